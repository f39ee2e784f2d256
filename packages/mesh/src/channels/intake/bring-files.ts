import { createHash } from 'node:crypto'
import { uploadPath, withAttachments } from '@flotilla/protocol/chat-attachments'
import type { Attachment } from '@flotilla/protocol/chat-attachments'
import { imageTypeOf } from '@flotilla/protocol/image-type'
import type { ChannelName } from '@flotilla/protocol/people'
import { Problem } from '@flotilla/protocol/problem'
import type { Guard, HumanCaller } from '../../access/index.ts'
import type { Log } from '../../platform/index.ts'
import type { ChannelAdapter } from '../adapter.ts'
import { backOffMs, channelLimits, fileBackOffMs } from '../channel-limits.ts'
import { createRungWork } from '../work-when-rung.ts'
import { fetchFile, fileFault, whyNoFile } from './fetch-file.ts'
import { forwardedFiles } from './forwarded-words.ts'
import { withSpoken } from './hear-voice.ts'
import type { HearVoice, SpokenWords } from './hear-voice.ts'
import type { FileWork } from './message-table.ts'
import { problemText, writeReply } from './write-answer.ts'
import type { WriteDeps } from './write-answer.ts'

/** Of a voice note, in words to whoever sent it. */
export const voiceRefusal =
  'Voice notes are not understood here: no model writes down what is said in them. Write it, please.'

/** Longest sleep of a worker that nobody wakes, milliseconds. */
const idleMs = 30_000

/** So long an agent that takes a file is waited for at the end, milliseconds. */
const closeMaxMs = 3000

export interface BringFilesDeps extends WriteDeps {
  readonly guard: Guard
  readonly log: Log
  readonly callerOf: (channel: ChannelName, senderId: string) => HumanCaller | null
  /** Puts a file into the files of an agent, as a person does at the dashboard. Problems of that. */
  readonly writeFile: (
    caller: HumanCaller,
    file: { readonly agentId: string; readonly path: string; readonly content: Uint8Array },
  ) => Promise<unknown>
  readonly voice: HearVoice
  /** Before anything is paid for: throws the Problems that would keep what is said from becoming a run. */
  readonly requireTaken: (work: GivenWork) => void
  /** Makes a run of it; joins the caller's transaction. Problems of `submitRun`. */
  readonly give: (work: GivenWork) => string
}

export interface GivenWork extends FileWork {
  readonly caller: HumanCaller
  readonly channel: ChannelName
}

export interface BringFiles {
  /** Messages with files were written down. */
  wake(): void
  /** Fetches what people sent until the signal aborts; then what is under way is let go, and taken up by the next life. */
  run(adapter: ChannelAdapter, signal: AbortSignal): Promise<void>
}

/** It may be there later: the message stays open. */
class NotYet extends Error {
  override readonly name = 'NotYet'
  readonly waitMs: number
  constructor(detail: string, waitMs: number) {
    super(detail)
    this.waitMs = waitMs
  }
}

interface Brought {
  readonly attachments: readonly Attachment[]
  /** What voice notes say. */
  readonly spoken: readonly SpokenWords[]
  /** Paths of attachments that somebody else made. */
  readonly forwarded: readonly string[]
  /** In words, one for each. */
  readonly leftOut: readonly string[]
}

/**
 * Fetches the files of messages whose row stands, puts them where the dashboard's go, and makes runs of the messages. Of one
 * person one message after the other, so that words do not overtake files. A file has the same path however often it is
 * fetched, so that a mesh which died between any two steps does it again and nothing is there twice.
 */
export function createBringFiles(deps: BringFilesDeps): BringFiles {
  const { messages, clock, log } = deps
  const underWay = new Map<string, Promise<void>>()
  /** How often each message was tried in this life, and when it is tried again; of messages that are open. */
  const tries = new Map<string, { readonly count: number; readonly dueAt: number }>()
  const loop = createRungWork(clock)

  async function take(adapter: ChannelAdapter, work: FileWork, signal: AbortSignal): Promise<void> {
    const channel = adapter.name
    const { message } = work
    const caller = deps.callerOf(channel, message.senderId)
    if (!caller) {
      // Nobody any more: nothing of theirs is fetched.
      messages.filesOver({ channel, messageId: message.id }, 'refused')
      return
    }
    const isPaid = deps.voice.isSet() && message.files.some(({ kind }) => kind === 'voice')
    const mayBe = () => deps.requireTaken({ ...work, caller, channel })
    if (isPaid && !refusable(channel, work, mayBe)) return
    const isLastTry = (tries.get(message.id)?.count ?? 0) + 1 >= channelLimits.fileTriesMax
    const brought = await bring(deps, { adapter, work: { ...work, caller }, isLastTry }, signal)
    const { attachments, spoken, leftOut } = brought
    const refusal = leftOut.length === 0 ? '' : `Left out: ${leftOut.join('; ')}.`
    if (work.text === '' && attachments.length + spoken.length === 0) return over(channel, work, refusal)
    const text = textWith(work, brought)
    refusable(channel, work, () => {
      // Before the transaction: a refusal is counted and journaled, which nothing may take back.
      deps.guard(caller, { do: 'submit-run', to: work.agentId })
      deps.database.transaction(() => {
        const runId = deps.give({ ...work, text, caller, channel })
        if (!messages.filesOver({ channel, messageId: message.id }, 'run', runId)) return
        writeReply(deps, { channel, message }, refusal === '' ? null : { text: refusal })
      })
    })
  }

  /** False where it is refused, which ends the message in words. */
  function refusable(channel: ChannelName, work: FileWork, step: () => void): boolean {
    try {
      step()
      return true
    } catch (error) {
      if (!(error instanceof Problem) || error.code === 'disk-full') throw error
      over(channel, work, problemText(error, work.message.place))
      return false
    }
  }

  /** It becomes no run, and whoever sent it is told why. */
  function over(channel: ChannelName, { message }: FileWork, text: string): void {
    deps.database.transaction(() => {
      if (!messages.filesOver({ channel, messageId: message.id }, 'refused')) return
      writeReply(deps, { channel, message }, { text })
    })
  }

  function forget(messageId: string): void {
    tries.delete(messageId)
    deps.voice.forget(messageId)
  }

  async function attempt(adapter: ChannelAdapter, work: FileWork, signal: AbortSignal): Promise<void> {
    const { id } = work.message
    try {
      await take(adapter, work, signal)
      forget(id)
    } catch (error) {
      if (signal.aborted) return
      const count = (tries.get(id)?.count ?? 0) + 1
      const askedMs = error instanceof NotYet ? error.waitMs : 0
      if (!(error instanceof NotYet))
        log.error(
          { channel: adapter.name, err: error },
          'files of a message were not kept; they are tried again after a pause, and then their sender is told',
        )
      tries.set(id, { count, dueAt: clock.now() + Math.max(askedMs, backOffMs(fileBackOffMs, count - 1)) })
      if (!(error instanceof NotYet) && !(error instanceof Problem) && count >= channelLimits.fileTriesMax) {
        forget(id)
        over(adapter.name, work, 'Your files could not be kept; the log of the mesh says why.')
      }
    }
  }

  /** Begins what is due; how long nothing more is, milliseconds. */
  function begin(adapter: ChannelAdapter, signal: AbortSignal): number {
    const now = clock.now()
    const room = channelLimits.filesAtOnce - underWay.size
    if (room <= 0) return idleMs
    let waitMs: number = idleMs
    let begun = 0
    // Of one person there is one; those that wait for their time are few, and the next stand behind them.
    for (const work of messages.nextFiles(adapter.name, [...underWay.keys()], channelLimits.openFilesMax)) {
      const dueAt = tries.get(work.message.id)?.dueAt ?? work.album?.until ?? now
      if (dueAt > now) waitMs = Math.min(waitMs, dueAt - now)
      if (dueAt > now || begun >= room) continue
      begun++
      const { senderId } = work.message
      const done = attempt(adapter, work, signal)
        .catch((error: unknown) =>
          log.error(
            { channel: adapter.name, err: error },
            'a look at files of messages failed; the next look finds them again',
          ),
        )
        .finally(() => {
          underWay.delete(senderId)
          loop.wake()
        })
      underWay.set(senderId, done)
    }
    return waitMs
  }

  return {
    wake: loop.wake,
    run: async (adapter, signal) => {
      await loop.run(() => begin(adapter, signal), signal)
      const settled = new AbortController()
      const late = clock.sleep(closeMaxMs, settled.signal).catch(() => {})
      await Promise.race([Promise.all(underWay.values()), late])
      settled.abort()
    },
  }
}

interface Bringing {
  readonly adapter: ChannelAdapter
  readonly work: FileWork & { readonly caller: HumanCaller }
  /** What cannot be had now is left out. */
  readonly isLastTry: boolean
}

async function bring(
  deps: BringFilesDeps,
  { adapter, work: { caller, message, agentId }, isLastTry }: Bringing,
  signal: AbortSignal,
): Promise<Brought> {
  const { clock } = deps
  const attachments: Attachment[] = []
  const spoken: SpokenWords[] = []
  const forwarded: string[] = []
  const leftOut: string[] = message.filesLeftOut === 0 ? [] : [`${message.filesLeftOut} more: too many`]
  for (const [index, file] of message.files.entries()) {
    const fault = fileFault(adapter, file, deps.voice.isSet())
    if (fault !== null) {
      leftOut.push(`${file.name}: ${fault}`)
      continue
    }
    try {
      if (file.kind === 'voice') {
        const { isPrivate } = message.place
        const note = { caller, agentId, messageId: message.id, index, isPrivate }
        const fetch = () => fetchFile(adapter, file, { clock, signal })
        spoken.push({
          words: await deps.voice.words(note, fetch, signal),
          forwarded: file.forwarded,
        })
        continue
      }
      const content = await fetchFile(adapter, file, { clock, signal })
      const path = uploadPath(file.name, markOf(adapter.name, message.id, index))
      await deps.writeFile(caller, { agentId, path, content })
      signal.throwIfAborted()
      if (file.forwarded) forwarded.push(path)
      attachments.push({ path, size: content.length, isPicture: imageTypeOf(content) !== null })
    } catch (error) {
      signal.throwIfAborted()
      const why = whyNoFile(file, error)
      if (why.waitMs !== null && !isLastTry) throw new NotYet(why.detail, why.waitMs)
      leftOut.push(`${file.name}: ${why.detail}`)
    }
  }
  return { attachments, spoken, forwarded, leftOut }
}

/** What the agent reads: what was typed and said, which files came, whose they are, and what is missing. Pure. */
function textWith({ text }: FileWork, { attachments, spoken, forwarded, leftOut }: Brought): string {
  const note = leftOut.length === 0 ? '' : `\n\n[Not passed on: ${leftOut.join('; ')}]`
  return withAttachments(withSpoken(text, spoken), attachments) + forwardedFiles(forwarded) + note
}

/** The same for the same file of the same message. Pure. */
function markOf(channel: ChannelName, messageId: string, index: number): string {
  return createHash('sha256').update(`${channel} ${messageId} ${index}`).digest('hex').slice(0, 8)
}
