import { ChannelFailure } from '../adapter.ts'
import { failureOfCall } from './call-failure.ts'

export type Fetch = (url: string, init?: RequestInit) => Promise<Response>

export interface Download {
  readonly fetch: Fetch
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly platform: string
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/**
 * The bytes of a file at a platform, at most `maxBytes`; what is sent beyond is not read. No redirect is followed, since a
 * token could go along. Rejects with a `ChannelFailure`: `too-large`, `gone` (the platform has it no more), `refused` or as
 * of any call.
 */
export async function downloadBounded(download: Download): Promise<Uint8Array> {
  const { fetch, url, headers, platform, maxBytes, signal } = download
  try {
    const response = await fetch(url, { headers, signal, redirect: 'error' })
    if (!response.ok) {
      await response.body?.cancel()
      const kind = response.status === 404 || response.status === 410 ? 'gone' : 'refused'
      throw new ChannelFailure(kind, `${platform} does not give out the file (${response.status})`)
    }
    return await readBounded(response, maxBytes)
  } catch (error) {
    signal.throwIfAborted()
    throw failureOfCall(error, platform)
  }
}

async function readBounded(response: Response, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let length = 0
  if (response.body === null) return new Uint8Array(0)
  // Whoever leaves the loop ends the download.
  for await (const part of response.body) {
    length += part.byteLength
    if (length > maxBytes) {
      throw new ChannelFailure('too-large', `the file is larger than ${maxBytes} bytes`)
    }
    parts.push(part)
  }
  return Buffer.concat(parts)
}
