import { unlessAborted } from '@flotilla/protocol/unless-aborted'
import { request } from 'undici'
import type { StandardSigned } from '../../../triggers/webhook/index.ts'
import { ChannelFailure } from '../../adapter.ts'

/**
 * How long the owner's server may take to send the response headers, and be silent within its response, in
 * milliseconds.
 */
const answerMaxMs = 15_000
/** The time limit for the whole call to the owner's URL, in milliseconds. */
const callMaxMs = 30_000
/** How much of a response is read at most, in bytes. */
const answerMaxBytes = 64 * 1024

/** Posts one event to the owner's URL. Resolves after a response with status 2xx. Rejects with a `ChannelFailure`. */
export async function postSigned(
  url: string,
  {
    body,
    maxMs = callMaxMs,
    id,
    timestamp,
    signature,
  }: StandardSigned & { readonly body: string; readonly maxMs?: number },
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(maxMs)])
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
  }
  const options = {
    method: 'POST',
    headers,
    body,
    headersTimeout: answerMaxMs,
    bodyTimeout: answerMaxMs,
  } as const
  // undici heeds the signal only once the connection is open.
  const answer = await unlessAborted(request(url, { ...options, signal: bounded }), bounded).catch(
    (error: unknown) => {
      signal.throwIfAborted()
      throw lineFailure(error)
    },
  )
  await answer.body.dump({ limit: answerMaxBytes }).catch(() => {})
  const { statusCode: status } = answer
  if (status >= 200 && status < 300) return
  throw statusFailure(status, String(answer.headers['retry-after'] ?? ''))
}

/** Returns the failure of a connection. Before it was open, nothing was sent; after that the delivery is unknown. */
function lineFailure(error: unknown): ChannelFailure {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const isBefore = [
    'ECONNREFUSED',
    'ENOTFOUND',
    'EAI_AGAIN',
    'UND_ERR_CONNECT_TIMEOUT',
    'EHOSTUNREACH',
  ].includes(code)
  return new ChannelFailure(
    isBefore ? 'unreachable' : 'unsure',
    `the address does not answer (${code || 'unknown'})`,
  )
}

function statusFailure(status: number, retryAfter: string): ChannelFailure {
  const detail = `the address answered ${status}`
  const seconds = /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : null
  if (status === 429)
    return new ChannelFailure('rate-limited', detail, seconds === null ? null : seconds * 1000)
  if (status === 404 || status === 410) return new ChannelFailure('gone', detail)
  if (status === 413) return new ChannelFailure('too-large', detail)
  if (status >= 500 || status === 408) return new ChannelFailure('unsure', detail)
  return new ChannelFailure('refused', detail)
}
