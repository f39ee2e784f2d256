import { isMeshUnreachable } from '@flotilla/client/unreachable'
import { problemCatalog } from '@flotilla/protocol/problem-catalog'
import { Problem } from '@flotilla/protocol/problem'
import { CommandFailed } from './command-failed.ts'
import { exitCodes } from './exit-codes.ts'
import type { ExitCode } from './exit-codes.ts'

/** The exit code of a command that ended with an error. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandFailed) return error.exitCode
  if (isMeshUnreachable(error)) return exitCodes.meshNotRunning
  return error instanceof Problem ? exitCodeOfProblem(error.code) : exitCodes.failed
}

/** The exit code for a problem code, also for one that a run ended with; unknown codes count as failed. */
export function exitCodeOfProblem(code: string): ExitCode {
  const status = Object.entries(problemCatalog).find(([known]) => known === code)?.[1].status
  return status === 402 || status === 403 || status === 401 ? exitCodes.refused : exitCodes.failed
}
