import { ProxyFailed, proxyFailedCode } from '@flotilla/foundation/platform'
import { ChannelFailure } from '../adapter.ts'

/** Error codes with which the request was certainly not sent: the host was not resolved or not reachable. */
const neverLeft = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])
/** How many nested causes of a failed call to a chat platform are searched. */
const causesMax = 5

/** Returns the failure of a call without a response, with the error code but without the URL and its token. Pure. */
export function failureOfCall(error: unknown, platform: string): ChannelFailure {
  const ours = ownFailure(error)
  if (ours !== null) return ours
  const code = codeOf(error)
  // The connection through the proxy was not open yet, so the request was not sent.
  if (code === proxyFailedCode) return new ChannelFailure('unreachable', proxyWords(error, platform))
  return code !== null && neverLeft.has(code)
    ? new ChannelFailure('unreachable', `${platform} cannot be reached (${code})`)
    : new ChannelFailure('unsure', `${platform} gave no answer${code === null ? '' : ` (${code})`}`)
}

/** Returns the `ChannelFailure` in the chain of causes, where a library may have wrapped it; null if it has none. */
function ownFailure(error: unknown): ChannelFailure | null {
  let at = error
  for (let depth = 0; depth < causesMax && at instanceof Error; depth++) {
    if (at instanceof ChannelFailure) return at
    at = at.cause
  }
  return null
}

/** Returns the proxy's error text. node-fetch wraps this text in an error whose message begins with the address. */
function proxyWords(error: unknown, platform: string): string {
  for (let at = error, depth = 0; depth < causesMax && at instanceof Error; depth++, at = at.cause) {
    if (at instanceof ProxyFailed) return at.message
    const [, reason] = /^request to .* failed, reason: (the proxy .*)$/s.exec(at.message) ?? []
    if (reason !== undefined) return reason
  }
  return `${platform} cannot be reached through the proxy`
}

/** Returns the network error code in the chain of causes; null if no cause has one. */
function codeOf(error: unknown): string | null {
  let at = error
  for (let depth = 0; depth < causesMax && at instanceof Error; depth++) {
    // A failed happy-eyeballs connection has one error for each address; the first error is used.
    if (at instanceof AggregateError && at.errors.length > 0) at = at.errors[0]
    if (
      at instanceof Error &&
      'code' in at &&
      typeof at.code === 'string' &&
      /^[A-Z_]{3,40}$/.test(at.code)
    ) {
      return at.code
    }
    at = at instanceof Error ? at.cause : null
  }
  return null
}

/** Returns the failure for an error response to a download. Temporary errors are retried. Pure. */
export function failureOfDownload(
  platform: string,
  status: number,
  retryAfter: string | string[] | null | undefined,
): ChannelFailure {
  const detail = `${platform} answered ${status} for the file`
  if (status === 429) {
    const seconds = typeof retryAfter === 'string' && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : null
    return rateLimited(platform, seconds === null ? waitWithoutWordMs : seconds * 1000)
  }
  if (status >= 500 || passing.has(status)) return new ChannelFailure('unsure', detail)
  return new ChannelFailure(status === 404 || status === 410 ? 'gone' : 'refused', detail)
}

/** HTTP status codes of temporary errors: 408 Request Timeout and 425 Too Early. */
const passing: ReadonlySet<number> = new Set([408, 425])

/** The wait, in milliseconds, if a platform rejects a call by rate limit without naming a duration. */
export const waitWithoutWordMs = 30_000

/** The longest wait that is accepted from a platform, in milliseconds. */
export const waitMaxMs = 3_600_000

/** Returns the failure for a rate limit, with the wait that the platform asked for, within bounds. Pure. */
export function rateLimited(platform: string, waitMs: number): ChannelFailure {
  const bounded = Number.isFinite(waitMs) ? Math.min(Math.max(Math.round(waitMs), 0), waitMaxMs) : waitMaxMs
  return new ChannelFailure('rate-limited', `${platform} rate limit reached`, bounded)
}
