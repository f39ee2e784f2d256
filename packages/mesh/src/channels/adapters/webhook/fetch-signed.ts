import { createHash } from 'node:crypto'
import type { StandardSigned } from '../../../triggers/webhook/index.ts'
import { ChannelFailure } from '../../adapter.ts'
import type { PlatformHttp } from '../platform-http.ts'

/**
 * Fetches a file from the owner's place by a GET whose empty body is signed, so that nobody else is given it. Rejects with a
 * `ChannelFailure`.
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
  const { status, body } = await http.call({ method: 'GET', url, headers, body: null, maxBytes }, signal)
  if (status === 200) return body
  const words = `the address answered ${status} for the file`
  if (status === 429 || status >= 500) throw new ChannelFailure('unsure', words)
  throw new ChannelFailure(status === 401 || status === 403 ? 'refused' : 'gone', words)
}
