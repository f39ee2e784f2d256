import { createHash } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import type { ChannelAdapter, ChannelFailureKind } from '../adapter.ts'
import { ChannelFailure, repeatMark } from '../adapter.ts'
import type { Database } from '../../storage/index.ts'
import { backOffMs, channelLimits, sendBackOffMs } from '../channel-limits.ts'
import { partsOf } from './letter-parts.ts'
import type { LetterPart } from './letter-parts.ts'
import type { Letter, LetterEnd, LetterTable } from './letter-table.ts'
import { sendFile } from './send-file.ts'
import type { SendFileDeps } from './send-file.ts'

const stumbledWords = `given up after ${channelLimits.letterHoursMax} hours: the mesh stumbled; its log says over what`
const whyDropped = 'for whom it was is not let in any more'

export interface SendLetterDeps extends SendFileDeps {
  readonly database: Pick<Database, 'transaction'>
  readonly letters: LetterTable
  readonly clock: Clock
  /** The message that showed the answer while it was made, once nothing writes to it any more; null where there is none. */
  readonly liveMessageOf: (runId: string) => Promise<string | null>
  /** Writes in one transaction that the letter arrived whole, or never will. */
  readonly settle: (letter: Letter, state: LetterEnd, detail: string) => void
  /** Whether it may still be told to whom it is for. */
  readonly isWanted: (letter: Letter) => boolean
}

export type SendLetter = (adapter: ChannelAdapter, letter: Letter, signal: AbortSignal) => Promise<void>

/**
 * Sends what is left of a letter, its words and then its files, piece by piece; each is a row before it is sent and when the platform has it. Never throws
 * for what the platform does: the letter is sent, postponed or failed then. It stays as it is once the signal aborts.
 */
export function createSendLetter(deps: SendLetterDeps): SendLetter {
  const { letters, clock } = deps

  /** Null where the end is written already: with the last piece, since every commit holds up all that the mesh does. */
  async function sendPieces(
    adapter: ChannelAdapter,
    letter: Letter,
    signal: AbortSignal,
  ): Promise<LetterEnd | null> {
    const parts = await partsOf(deps.split, adapter, letter)
    // Buttons belong to the last words, also where files stand behind them.
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
      if (isTooOld(letter, clock.now())) deps.settle(letter, 'failed', stumbledWords)
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
    const wait = Math.max(retryAfterMs ?? 0, backOffMs(sendBackOffMs, letter.attempts - 1))
    if (isTooOld(letter, now + wait)) {
      deps.settle(letter, 'failed', `given up after ${channelLimits.letterHoursMax} hours: ${detail}`)
      return
    }
    letters.postpone(id, now + wait, { certain: kind !== 'unsure', detail })
  }
}

/** What cannot be sent does not hold up for ever what stands behind it. Pure. */
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
  const words = sent.part.text
  const buttons = sent.isLast ? letter.buttons.slice(0, adapter.traits.buttonsMax) : []
  if (piece === 0 && live !== null && adapter.edit) {
    try {
      // The same edit again changes nothing, so that no mark is wanted.
      await adapter.edit({ place: letter.place, messageId: live, text: words, buttons }, signal)
      return
    } catch (error) {
      // What cannot be edited any more is sent anew. «Gone» may be the message alone, which anybody may have deleted.
      if (!(error instanceof ChannelFailure) || !cannotBeEdited.has(error.kind)) throw error
    }
  }
  const clientId = clientIdOf(letter, piece)
  const { place } = letter
  const text = sent.isRepeat ? repeatMark + words : words
  const replyToId = piece === 0 ? letter.replyToId : null
  // What is sent for the first time fits: some platforms count less than its length, once they have read the marks in it.
  if (!sent.isRepeat || text.length <= adapter.traits.messageCharsMax) {
    await adapter.send({ place, clientId, text, buttons, replyToId }, signal)
    return
  }
  // The mark finds no room in a message that is as long as one can be, and stands before it.
  await sendMark(adapter, { letter, clientId, replyToId }, signal)
  await adapter.send({ place, clientId, text: words, buttons, replyToId: null }, signal)
}

/** The same for the same piece of the same letter, and of no other home's. Pure. */
export function clientIdOf({ channel, source, createdAt }: Letter, piece: number): string {
  const mark = createHash('sha256').update(`${channel} ${source} ${createdAt}`).digest('hex').slice(0, 32)
  return `${mark}-${piece}`
}

/** Says of the message behind it that it may be there already. */
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
