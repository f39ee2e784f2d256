import { ChannelFailure } from '../adapter.ts'

/** Under these a request certainly did not leave: no name, no way, nobody there. */
const neverLeft = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])
const causesMax = 5

/** What a call that ended without an answer means. Names the code and no address, which may hold a token. Pure. */
export function failureOfCall(error: unknown, platform: string): ChannelFailure {
  const ours = ownFailure(error)
  if (ours !== null) return ours
  const code = codeOf(error)
  return code !== null && neverLeft.has(code)
    ? new ChannelFailure('unreachable', `${platform} cannot be reached (${code})`)
    : new ChannelFailure('unsure', `${platform} gave no answer${code === null ? '' : ` (${code})`}`)
}

/** Ours, from wherever a library put it. */
function ownFailure(error: unknown): ChannelFailure | null {
  let at = error
  for (let depth = 0; depth < causesMax && at instanceof Error; depth++) {
    if (at instanceof ChannelFailure) return at
    at = at.cause
  }
  return null
}

/** The network's own code, from wherever a library put it. */
function codeOf(error: unknown): string | null {
  let at = error
  for (let depth = 0; depth < causesMax && at instanceof Error; depth++) {
    // The second half of a happy-eyeballs failure is as good as the first.
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

/** What it means that a platform answered so where a file was asked for: what may pass is tried again. Pure. */
export function failureOfDownload(
  platform: string,
  status: number,
  retryAfter: string | string[] | null | undefined,
): ChannelFailure {
  const said = `${platform} answered ${status} for the file`
  if (status === 429) {
    const seconds = typeof retryAfter === 'string' && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : null
    return rateLimited(platform, seconds === null ? waitWithoutWordMs : seconds * 1000)
  }
  if (status >= 500 || passing.has(status)) return new ChannelFailure('unsure', said)
  return new ChannelFailure(status === 404 || status === 410 ? 'gone' : 'refused', said)
}

/** Request timeout, too early. */
const passing: ReadonlySet<number> = new Set([408, 425])

/** Where a platform asks to wait and does not say how long, milliseconds. */
export const waitWithoutWordMs = 30_000

/** The longest that a platform's word to wait is believed, milliseconds. */
export const waitMaxMs = 3_600_000

/** What a platform asked to wait, within bounds. Pure. */
export function rateLimited(platform: string, waitMs: number): ChannelFailure {
  const bounded = Number.isFinite(waitMs) ? Math.min(Math.max(Math.round(waitMs), 0), waitMaxMs) : waitMaxMs
  return new ChannelFailure('rate-limited', `${platform} asks to wait`, bounded)
}
