import { isMeshUnreachable } from '@flotilla/client/unreachable'
import { problemCatalog } from '@flotilla/protocol/problem-catalog'
import { Problem } from '@flotilla/protocol/problem'

/** What a script can tell apart. They never change meaning. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  meshNotRunning: 3,
  /** Denied, or a budget does not allow it: asking again does not help, the owner must change something. */
  refused: 4,
} as const
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

export function exitCodeOf(error: unknown): ExitCode {
  if (isMeshUnreachable(error)) return exitCodes.meshNotRunning
  return error instanceof Problem ? exitCodeOfProblem(error.code) : exitCodes.failed
}

/** The exit code for a problem code, also for one that a run ended with; unknown codes count as failed. */
export function exitCodeOfProblem(code: string): ExitCode {
  const status = Object.entries(problemCatalog).find(([known]) => known === code)?.[1].status
  return status === 402 || status === 403 || status === 401 ? exitCodes.refused : exitCodes.failed
}
