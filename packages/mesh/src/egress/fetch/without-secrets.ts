import { Problem } from '@flotilla/protocol/problem'
import type { Scrub } from '../../credentials/index.ts'

/** An error as an agent may read it. Its cause may quote the far end's bytes, which logs would show. Pure. */
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
