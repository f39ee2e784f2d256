import { ChannelFailure } from '../adapter.ts'
import { failureOfCall, failureOfDownload } from './call-failure.ts'

export type Fetch = (url: string, init?: RequestInit) => Promise<Response>

export interface Download {
  readonly fetch: Fetch
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly platform: string
  readonly maxBytes: number
  readonly signal: AbortSignal
  /** The time limit of the whole download, in milliseconds; ten minutes if omitted. */
  readonly maxMs?: number
}

/** The time limit for downloading one file from a chat platform, in milliseconds. */
const downloadMaxMs = 10 * 60_000

/**
 * Downloads a file of at most `maxBytes` and reads no further bytes. Does not follow redirects,
 * because a redirect would forward the token. Rejects with a `ChannelFailure`: `too-large`, `gone`
 * (deleted at the platform), `refused`, or a kind as for any call.
 */
export async function downloadBounded(download: Download): Promise<Uint8Array> {
  const { fetch, url, headers, platform, maxBytes, signal, maxMs = downloadMaxMs } = download
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(maxMs)])
  try {
    const response = await fetch(url, { headers, signal: bounded, redirect: 'manual' })
    if (!response.ok) {
      await response.body?.cancel()
      throw failureOfDownload(platform, response.status, response.headers.get('retry-after'))
    }
    return await readBounded(response, maxBytes)
  } catch (error) {
    signal.throwIfAborted()
    throw failureOfCall(error, platform)
  }
}

/** Reads at most `maxBytes`. Rejects with a `ChannelFailure` of kind `too-large` if there is more. */
export async function readBounded(response: Response, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let length = 0
  if (response.body === null) return new Uint8Array(0)
  // Leaving the loop cancels the download.
  for await (const part of response.body) {
    length += part.byteLength
    if (length > maxBytes) {
      throw new ChannelFailure('too-large', `the file is larger than ${maxBytes} bytes`)
    }
    parts.push(part)
  }
  return Buffer.concat(parts)
}
