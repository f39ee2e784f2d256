import { Problem } from '@flotilla/protocol/problem'

/** The problem for a connection that failed or broke before a mesh answered. */
export function meshUnreachable(baseUrl: string, cause: unknown): Problem {
  return new Problem('mesh-unreachable', {
    detail: `No mesh answers on ${baseUrl} (${causeWords(cause)}).`,
    cause,
  })
}

export function isMeshUnreachable(error: unknown): boolean {
  return error instanceof Problem && error.code === 'mesh-unreachable'
}

/** The innermost reason of a failed connection, e.g. `ECONNREFUSED`. */
function causeWords(error: unknown): string {
  let cause = 'connection failed'
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const code: unknown = Reflect.get(at, 'code')
    cause = typeof code === 'string' ? code : at.message === '' ? cause : at.message
  }
  return cause
}
