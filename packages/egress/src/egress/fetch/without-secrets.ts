import { Problem } from '@flotilla/protocol/problem'
import type { Scrub } from '../../credentials/index.ts'

/**
 * Returns an error that is safe to show to an agent. The original cause is dropped, because it may quote bytes of the
 * server. Pure.
 */
export function withoutSecrets(error: unknown, scrub: Scrub): unknown {
  if (error instanceof Problem) {
    const { detail, extra, retryAfterSeconds } = error
    return new Problem(error.code, {
      detail: scrub.text(detail),
      extra,
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    })
  }
  return new Error(scrub.text(error instanceof Error ? error.message : 'the request failed'))
}
