import { Problem } from '@flotilla/protocol/problem'
import { ProxyFailed } from '@flotilla/foundation/platform'
import { AnswerTooSlow, SilentTooLong } from './provider-connection.ts'

/** Returns the caller's error for a failed exchange: a Problem, or the reason of an aborted signal. Pure. */
export function whyBroken(
  error: unknown,
  at: { signal: AbortSignal; host: string; isSent: boolean; isBegun: boolean },
): unknown {
  if (at.signal.aborted) return at.signal.reason
  if (at.isSent && error instanceof SilentTooLong) {
    return new Problem('upstream-timeout', { detail: `${at.host} sent nothing for too long`, cause: error })
  }
  if (error instanceof AnswerTooSlow) {
    return new Problem('upstream-timeout', {
      detail: `${at.host} did not end its answer in time`,
      cause: error,
    })
  }
  if (at.isBegun) {
    return new Problem('upstream-failed', { detail: `${at.host} ended its answer early`, cause: error })
  }
  // It is unknown whether the request was read, and so whether it will be billed.
  if (at.isSent) {
    return new Problem('upstream-failed', {
      detail: `${at.host} closed the connection before it answered`,
      cause: error,
    })
  }
  if (error instanceof ProxyFailed) {
    return new Problem('provider-unreachable', { detail: `${at.host}: ${error.message}`, cause: error })
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return new Problem('provider-unreachable', {
    detail: `no answer from ${at.host}${code === '' ? '' : ` (${code})`}`,
    cause: error,
  })
}
