import { Problem } from '@flotilla/protocol/problem'
import type { Scrub } from '../../credentials/index.ts'
import type { PinnedReply } from './pinned-fetch.ts'

/** How many decompressed bytes of a body are read; decompression bombs end here. */
export const bodyMaxBytes = 1024 * 1024
/** How many characters an agent receives. */
export const textMaxChars = 50_000

export interface ReadText {
  readonly text: string
  /** Bytes that were read; the rest of a longer body is never fetched. */
  readonly bytes: number
  readonly truncated: boolean
}

/** The first bytes of a body. */
interface ReadBytes {
  readonly chunks: readonly Uint8Array[]
  readonly bytes: number
  readonly contentType: string | undefined
}

/** Reads the start of a body. Throws `upstream-failed` if the connection breaks, or the signal's reason. */
export async function readBytes(reply: PinnedReply, signal: AbortSignal): Promise<ReadBytes> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of reply.body) {
      signal.throwIfAborted()
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > bodyMaxBytes) break
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof Problem) throw error
    throw new Problem('upstream-failed', {
      detail: 'the answer was interrupted or cannot be decompressed',
      cause: error,
    })
  }
  return { chunks, bytes, contentType: reply.headers['content-type'] }
}

/** Returns the start of a body as text, with secrets removed before it is truncated. Pure. */
export function textOf({ chunks, bytes, contentType }: ReadBytes, scrub: Scrub): ReadText {
  const whole = decode(Buffer.concat(chunks).subarray(0, bodyMaxBytes), contentType)
  const read = whole.slice(0, textMaxChars + scrub.reachChars)
  const isCut = bytes > bodyMaxBytes || read.length < whole.length
  const text = cut(isCut ? scrub.cutText(read) : scrub.text(read))
  return {
    text,
    bytes: Math.min(bytes, bodyMaxBytes),
    truncated: bytes > bodyMaxBytes || whole.length > textMaxChars,
  }
}

function decode(bytes: Uint8Array, contentType: string | undefined): string {
  const charset = /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType ?? '')?.[1] ?? 'utf-8'
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

/** Truncates without splitting a surrogate pair. */
function cut(text: string): string {
  const start = text.slice(0, textMaxChars)
  return text.length > textMaxChars && /[\uD800-\uDBFF]$/.test(start) ? start.slice(0, -1) : start
}
