import { createHash } from 'node:crypto'
import { uploadPath, withAttachments } from '@flotilla/protocol/chat-attachments'
import type { Attachment } from '@flotilla/protocol/chat-attachments'
import { imageTypeOf } from '@flotilla/protocol/image-type'
import type { ChannelName } from '@flotilla/protocol/people'
import { Problem } from '@flotilla/protocol/problem'
import { backoffMs } from '@flotilla/protocol/backoff'
import type { Guard, HumanCaller } from '@flotilla/identity/access'
import type { Log } from '@flotilla/foundation/platform'
import type { ChannelAdapter } from '../adapter.ts'
import { channelLimits, fileBackoff } from '../channel-limits.ts'
import { createRungWork } from '../work-when-rung.ts'
import { fetchFile, fileFault, whyNoFile } from './fetch-file.ts'
import { forwardedFiles } from '../messages/forwarded-text.ts'
import { withSpoken } from './transcribe-voice.ts'
import type { TranscribeVoice, SpokenWords } from './transcribe-voice.ts'
import type { FileWork } from '../messages/message-table.ts'
import { problemText, writeReply } from '../commands/write-answer.ts'
import type { WriteDeps } from '../commands/write-answer.ts'

/** How long the loop sleeps at most without a wake-up, in milliseconds. */
const idleMs = 30_000

/** How long shutdown waits for an agent that is receiving a file, in milliseconds. */
const closeMaxMs = 3000

export interface BringFilesDeps extends WriteDeps {
  readonly guard: Guard
  readonly log: Log
  readonly callerOf: (channel: ChannelName, senderId: string) => HumanCaller | null
  /** Stores a file in the files of an agent, as an upload in the dashboard does. Throws the Problems of uploads. */
  readonly writeFile: (
    caller: HumanCaller,
    file: { readonly agentId: string; readonly path: string; readonly content: Uint8Array },
  ) => Promise<unknown>
  readonly voice: TranscribeVoice
  /** Throws the Problems that would reject the run, before the owner pays for a transcription. */
  readonly requireTaken: (work: GivenWork) => void
  /** Submits the run and returns its id. Joins the caller's transaction. Throws the Problems of `submitRun`. */
  readonly give: (work: GivenWork) => string
}

export interface GivenWork extends FileWork {
  readonly caller: HumanCaller
  readonly channel: ChannelName
}

export interface BringFiles {
  /** Messages with files were stored. */
  wake(): void
  /** Fetches files until the signal aborts. Unfinished work is then abandoned, and the next process repeats it. */
  run(adapter: ChannelAdapter, signal: AbortSignal): Promise<void>
}

/** Thrown if a file may be available later. The message then waits for the next attempt. */
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
  /** The transcripts of voice notes. */
  readonly spoken: readonly SpokenWords[]
  /** Paths of attachments that the sender forwarded. */
  readonly forwarded: readonly string[]
  /** For each file that was left out, its name and the reason as text. */
  readonly leftOut: readonly string[]
}

/**
 * Fetches the files of persisted messages, stores them in the agent's folder for uploads, and submits
 * the runs. Messages of one person are handled in order, so that text does not overtake files. The
 * path of a file is deterministic: after a crash every step can be repeated without duplicates.
 */
export function createBringFiles(deps: BringFilesDeps): BringFiles {
  const { messages, clock, log } = deps
  const underWay = new Map<string, Promise<void>>()
  /** The number of attempts of each message in this process, and when its next attempt is due. */
  const tries = new Map<string, { readonly count: number; readonly dueAt: number }>()
  const loop = createRungWork(clock)

  async function take(adapter: ChannelAdapter, work: FileWork, signal: AbortSignal): Promise<void> {
    const channel = adapter.name
    const { message } = work
    const caller = deps.callerOf(channel, message.senderId)
    if (!caller) {
      // The sender was removed from people.json, so no file is fetched.
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
      // The check runs before the transaction, so that the count and record of a refusal are not rolled back.
      deps.guard(caller, { do: 'submit-run', to: work.agentId })
      deps.database.transaction(() => {
        const runId = deps.give({ ...work, text, caller, channel })
        if (!messages.filesOver({ channel, messageId: message.id }, 'run', runId)) return
        writeReply(deps, { channel, message }, refusal === '' ? null : { text: refusal })
      })
    })
  }

  /** Runs a step. Returns false if the step was refused; the message then starts no run and gets a reply. */
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

  /** Ends a message without a run, and sends its sender the reason. */
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
      const retryAfterMs = error instanceof NotYet ? error.waitMs : 0
      if (!(error instanceof NotYet))
        log.error(
          { channel: adapter.name, err: error },
          'failed to store files of a message; retrying, then notifying the sender',
        )
      tries.set(id, { count, dueAt: clock.now() + Math.max(retryAfterMs, backoffMs(fileBackoff, count)) })
      if (!(error instanceof NotYet) && !(error instanceof Problem) && count >= channelLimits.fileTriesMax) {
        forget(id)
        over(adapter.name, work, 'Your files could not be stored; see the log of the mesh.')
      }
    }
  }

  /** Starts due work. Returns for how long the loop may sleep, in milliseconds. */
  function begin(adapter: ChannelAdapter, signal: AbortSignal): number {
    const now = clock.now()
    const room = channelLimits.filesAtOnce - underWay.size
    if (room <= 0) return idleMs
    let waitMs: number = idleMs
    let begun = 0
    // Reads one message per person. Few messages wait for a backoff, so due messages are among the first rows.
    for (const work of messages.nextFiles(adapter.name, [...underWay.keys()], channelLimits.openFilesMax)) {
      const dueAt = tries.get(work.message.id)?.dueAt ?? work.album?.until ?? now
      if (dueAt > now) waitMs = Math.min(waitMs, dueAt - now)
      if (dueAt > now || begun >= room) continue
      begun++
      const { senderId } = work.message
      const done = attempt(adapter, work, signal)
        .catch((error: unknown) =>
          log.error({ channel: adapter.name, err: error }, 'failed to process files of messages; retrying'),
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
  /** True if a file that is not available now is omitted instead of retried. */
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

/** Returns the text for the agent: typed text, transcripts, the list of files, and what is missing. Pure. */
function textWith({ text }: FileWork, { attachments, spoken, forwarded, leftOut }: Brought): string {
  const note = leftOut.length === 0 ? '' : `\n\n[Not passed on: ${leftOut.join('; ')}]`
  return withAttachments(withSpoken(text, spoken), attachments) + forwardedFiles(forwarded) + note
}

/** Returns a text that is the same for each attempt and different for each file. Pure. */
function markOf(channel: ChannelName, messageId: string, index: number): string {
  return createHash('sha256').update(`${channel} ${messageId} ${index}`).digest('hex').slice(0, 8)
}
