/** Cooldown in milliseconds after this many failures in a row before a server is started again. */
const restsMs = [1000, 5000, 30_000, 120_000, 600_000] as const
/** After running this long, the next failure counts as the first again. */
const steadyMs = 300_000

/** Consecutive failures of one server. */
export interface ServerFailures {
  readonly count: number
  readonly lastAt: number
  /** The reason of the last failure; null once the server runs again. */
  readonly reason: string | null
  /**
   * True if the mesh refused the call before anything was sent (permission, credential or filter); the owner may
   * change this at any time.
   */
  readonly isRefusal: boolean
}

export const noFailures: ServerFailures = { count: 0, lastAt: 0, reason: null, isRefusal: false }

/** Counts one more failure. `ranSince`: when the server last started to run; null if it never ran. Pure. */
export function failedAgain(
  before: ServerFailures,
  failure: {
    readonly at: number
    readonly ranSince: number | null
    readonly reason: string
    readonly isRefusal?: boolean
  },
): ServerFailures {
  const { at, ranSince, reason, isRefusal = false } = failure
  const isSteady = ranSince !== null && at - ranSince > steadyMs
  // A refusal says nothing about the server, so it does not lengthen the cooldown.
  if (isRefusal) return { count: before.count, lastAt: at, reason, isRefusal }
  return { count: isSteady ? 1 : before.count + 1, lastAt: at, reason, isRefusal }
}

/** Returns the milliseconds until the server may be started again. Pure. */
export function restLeftMs({ count, lastAt, isRefusal }: ServerFailures, now: number): number {
  if (isRefusal) return 0
  const rest = restsMs[Math.min(count, restsMs.length) - 1] ?? 0
  return Math.max(0, lastAt + rest - now)
}

/** Says why the server does not run, and when it is started again. Pure. */
export function formatFailures(failures: ServerFailures, now: number): string {
  const leftMs = restLeftMs(failures, now)
  const next =
    leftMs > 0
      ? `the MCP server may be started again in ${Math.ceil(leftMs / 1000)} s`
      : 'the next use starts the MCP server again'
  return `${failures.reason ?? wasStopped}; ${next}`
}

export const wasStopped = 'the MCP server was stopped'
