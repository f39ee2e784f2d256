import type { ExitCode } from './exit-codes.ts'
import { exitCodes } from './exit-codes.ts'

/** The error of a command that failed for a reason other than an error reply of the mesh. */
export class CommandFailed extends Error {
  /** Kebab-case, stable. */
  readonly code: string
  /** What the person does next. */
  readonly repair: string
  readonly exitCode: ExitCode

  constructor(code: string, problem: { detail: string; repair: string; exitCode?: ExitCode }) {
    super(problem.detail)
    this.name = 'CommandFailed'
    this.code = code
    this.repair = problem.repair
    this.exitCode = problem.exitCode ?? exitCodes.failed
  }
}
