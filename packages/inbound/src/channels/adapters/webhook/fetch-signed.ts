import { createHash } from 'node:crypto'
import type { StandardSigned } from '../../../triggers/webhook/index.ts'
import { failureOfDownload } from '../call-failure.ts'
import type { PlatformHttp } from '../platform-http.ts'

/**
 * Downloads a file from the owner's server. The GET request has a signature over an empty body, so that the server
 * can authenticate it. Rejects with a `ChannelFailure`.
 */
export async function fetchSigned(
  http: PlatformHttp,
  {
    url,
    sign,
    maxBytes,
  }: {
    readonly url: URL
    readonly sign: (id: string) => StandardSigned
    readonly maxBytes: number
  },
  signal: AbortSignal,
): Promise<Uint8Array> {
  const { id, timestamp, signature } = sign(
    `get_${createHash('sha256').update(url.href).digest('hex').slice(0, 32)}`,
  )
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature }
  const call = { method: 'GET', url, headers, body: null, maxBytes } as const
  const { status, headers: answered, body } = await http.call(call, signal)
  if (status === 200) return body
  throw failureOfDownload('the address', status, answered['retry-after'])
}
