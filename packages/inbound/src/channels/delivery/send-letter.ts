import { createHash } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import { backoffMs } from '@flotilla/protocol/backoff'
import type { ChannelAdapter, ChannelFailureKind } from '../adapter.ts'
import { ChannelFailure, repeatMark } from '../adapter.ts'
import type { Database } from '@flotilla/foundation/storage'
import { channelLimits, sendBackoff } from '../channel-limits.ts'
import { partsOf } from './letter-parts.ts'
import type { LetterPart } from './letter-parts.ts'
import type { Letter, LetterEnd, LetterTable } from '../messages/letter-table.ts'
import { sendFile } from './send-file.ts'
import type { SendFileDeps } from './send-file.ts'

const internalErrorWords = `given up after ${channelLimits.letterHoursMax} hours: internal error; see the log of the mesh`
const whyDropped = 'the recipient no longer has access'

export interface SendLetterDeps extends SendFileDeps {
  readonly database: Pick<Database, 'transaction'>
  readonly letters: LetterTable
  readonly clock: Clock
  /** Resolves with the id of the run's live message once its last edit is done, or null if no live message exists. */
  readonly liveMessageOf: (runId: string) => Promise<string | null>
  /** Records in one transaction that the letter was delivered or failed. */
  readonly settle: (letter: Letter, state: LetterEnd, detail: string) => void
  /** True if the recipient may still get the letter. */
  readonly isWanted: (letter: Letter) => boolean
}

export type SendLetter = (adapter: ChannelAdapter, letter: Letter, signal: AbortSignal) => Promise<void>

/**
 * Sends the remaining parts of a letter: text first, then files. Each part is recorded before it is
 * sent and after the platform confirmed it. Never throws for failures of the platform; the letter
 * is then sent, postponed or failed. If the signal aborts, the letter stays unchanged.
 */
export function createSendLetter(deps: SendLetterDeps): SendLetter {
  const { letters, clock } = deps

  /**
   * Sends the parts and returns how the letter ended; null if its end was recorded with the last
   * part. That saves a commit, and each commit blocks the mesh.
   */
  async function sendPieces(
    adapter: ChannelAdapter,
    letter: Letter,
    signal: AbortSignal,
  ): Promise<LetterEnd | null> {
    const parts = await partsOf(deps.split, adapter, letter)
    // Buttons go with the last text, even if files follow.
    const lastWords = parts.findLastIndex(({ kind }) => kind === 'words')
    const live = letter.runId === null ? null : await deps.liveMessageOf(letter.runId)
    for (let piece = letter.piecesOut; piece < parts.length; piece++) {
      signal.throwIfAborted()
      if (!deps.isWanted(letter)) return 'dropped'
      const isRepeat = letter.begunPiece === piece && !adapter.traits.dropsRepeats
      letters.begin(letter.id, piece)
      const part = parts[piece]
      if (part === undefined) break
      if (part.kind === 'words') {
        const sent = { letter, piece, part, isLast: piece === lastWords, isRepeat, live }
        await sendPiece(adapter, sent, signal)
      } else {
        const clientId = clientIdOf(letter, piece)
        if (isRepeat) await sendMark(adapter, { letter, clientId, replyToId: null }, signal)
        await sendFile(adapter, { letter, part, clientId, deps }, signal)
      }
      const isOver = piece === parts.length - 1
      deps.database.transaction(() => {
        letters.out(letter.id, piece + 1)
        if (isOver) deps.settle(letter, 'sent', '')
      })
      if (isOver) return null
    }
    return 'sent'
  }

  return async (adapter, letter, signal) => {
    let end: LetterEnd | null
    try {
      end = await sendPieces(adapter, letter, signal)
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof ChannelFailure) return afterFailure(error, letter)
      if (isTooOld(letter, clock.now())) deps.settle(letter, 'failed', internalErrorWords)
      throw error
    }
    if (end !== null) deps.settle(letter, end, end === 'dropped' ? whyDropped : '')
  }

  function afterFailure({ kind, message: detail, retryAfterMs }: ChannelFailure, { id }: Letter): void {
    const letter = letters.find(id)
    if (!letter) return
    const now = clock.now()
    if (kind === 'gone' || kind === 'refused' || kind === 'too-large') {
      deps.settle(letter, 'failed', detail)
      return
    }
    const wait = Math.max(retryAfterMs ?? 0, backoffMs(sendBackoff, letter.attempts))
    if (isTooOld(letter, now + wait)) {
      deps.settle(letter, 'failed', `given up after ${channelLimits.letterHoursMax} hours: ${detail}`)
      return
    }
    letters.postpone(id, now + wait, { certain: kind !== 'unsure', detail })
  }
}

/** True if the letter is too old to be retried, so that it does not block the letters behind it for ever. Pure. */
function isTooOld({ createdAt }: Letter, at: number): boolean {
  return at - createdAt > channelLimits.letterHoursMax * 3600 * 1000
}

const cannotBeEdited: ReadonlySet<ChannelFailureKind> = new Set(['refused', 'gone', 'too-large'])

interface Piece {
  readonly letter: Letter
  readonly piece: number
  readonly part: Extract<LetterPart, { readonly kind: 'words' }>
  readonly isLast: boolean
  readonly isRepeat: boolean
  readonly live: string | null
}

async function sendPiece(adapter: ChannelAdapter, sent: Piece, signal: AbortSignal): Promise<void> {
  const { letter, piece, live } = sent
  const content = sent.part.text
  const buttons = sent.isLast ? letter.buttons.slice(0, adapter.traits.buttonsMax) : []
  if (piece === 0 && live !== null && adapter.edit) {
    try {
      // An edit can be repeated without effect, so it needs no repeat mark.
      await adapter.edit({ place: letter.place, messageId: live, text: content, buttons }, signal)
      return
    } catch (error) {
      // If the live message cannot be edited, a new message is sent. `gone` may mean that a user deleted the old one.
      if (!(error instanceof ChannelFailure) || !cannotBeEdited.has(error.kind)) throw error
    }
  }
  const clientId = clientIdOf(letter, piece)
  const { place } = letter
  const text = sent.isRepeat ? repeatMark + content : content
  const replyToId = piece === 0 ? letter.replyToId : null
  // A text without a mark always fits. Its string may be longer than the limit where a platform
  // counts characters after parsing the markup.
  if (!sent.isRepeat || text.length <= adapter.traits.messageCharsMax) {
    await adapter.send({ place, clientId, text, buttons, replyToId }, signal)
    return
  }
  // A text of maximum length has no space for the mark, so the mark is sent as a message before the text.
  await sendMark(adapter, { letter, clientId, replyToId }, signal)
  await adapter.send({ place, clientId, text: content, buttons, replyToId: null }, signal)
}

/** Returns the client id of a part: the same for each attempt, and different between homes. Pure. */
export function clientIdOf({ channel, source, createdAt }: Letter, piece: number): string {
  const mark = createHash('sha256').update(`${channel} ${source} ${createdAt}`).digest('hex').slice(0, 32)
  return `${mark}-${piece}`
}

/** Sends a message that says that the next message may be a repeat. */
async function sendMark(
  adapter: ChannelAdapter,
  {
    letter,
    clientId,
    replyToId,
  }: { readonly letter: Letter; readonly clientId: string; readonly replyToId: string | null },
  signal: AbortSignal,
): Promise<void> {
  const text = repeatMark.trim()
  const { place } = letter
  await adapter.send({ place, clientId: `${clientId}-mark`, text, buttons: [], replyToId }, signal)
}
