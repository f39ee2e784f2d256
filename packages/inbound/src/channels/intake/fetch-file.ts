import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { voiceLimits } from '@flotilla/inference/models'
import type { ChannelAdapter } from '../adapter.ts'
import { ChannelFailure } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import type { PlainFile } from '../messages/plain-message.ts'

/** Returns the maximum size. Voice notes have the limit of the transcription model, because they are not stored. */
const bytesMaxOf = (kind: PlainFile['kind']) =>
  kind === 'voice' ? voiceLimits.audioMaxBytes : channelLimits.fileInMaxBytes

const tooLarge = (kind: PlainFile['kind']) => `the file is larger than ${bytesMaxOf(kind) / 1024 / 1024} MB`

/** Returns why a file is not fetched at all, or null. Pure. */
export function fileFault(
  { download }: ChannelAdapter,
  { kind, sizeBytes }: PlainFile,
  hearsVoice: boolean,
): string | null {
  if (kind === 'voice' && !hearsVoice) return 'voice notes are not supported here'
  if (download === undefined) return 'this channel accepts no files'
  return sizeBytes !== null && sizeBytes > bytesMaxOf(kind) ? tooLarge(kind) : null
}

/** Resolves with the file's content. Rejects with a `ChannelFailure`, or with the reason of the signal. */
export async function fetchFile(
  { download }: ChannelAdapter,
  { kind, reference }: PlainFile,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Uint8Array> {
  const ending = new AbortController()
  const until = AbortSignal.any([signal, ending.signal])
  const seconds = channelLimits.fileTryMaxMs / 1000
  const late = new ChannelFailure('unsure', `the download did not finish within ${seconds} seconds`)
  void clock.sleep(channelLimits.fileTryMaxMs, until).then(
    () => ending.abort(late),
    () => {},
  )
  try {
    const content = await download?.(reference, bytesMaxOf(kind), until)
    if (content === undefined || content.length === 0) throw new ChannelFailure('gone', 'the file is empty')
    return content
  } catch (error) {
    signal.throwIfAborted()
    throw ending.signal.aborted ? late : error
  } finally {
    ending.abort()
  }
}

/** Returns the reason, and the least delay before a retry in milliseconds; null if a retry does not help. Pure. */
export function whyNoFile(
  { kind: fileKind }: PlainFile,
  error: unknown,
): { readonly detail: string; readonly waitMs: number | null } {
  if (error instanceof ChannelFailure) {
    const { kind, message, retryAfterMs } = error
    if (kind === 'too-large') return { detail: tooLarge(fileKind), waitMs: null }
    const waitMs = retryAfterMs ?? 0
    const isOver = kind === 'gone' || kind === 'refused' || waitMs > channelLimits.fileWaitMaxMs
    return { detail: message, waitMs: isOver ? null : waitMs }
  }
  if (error instanceof Problem) {
    const isOver = error.code === 'denied' || error.code === 'unknown-agent'
    return { detail: error.detail, waitMs: isOver ? null : (error.retryAfterSeconds ?? 0) * 1000 }
  }
  throw error
}
