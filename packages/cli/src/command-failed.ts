import type { ExitCode } from './exit-codes.ts'
import { exitCodes } from './exit-codes.ts'

/** A command that cannot do what was asked, for a reason that is not a reply of the mesh. */
export class CommandFailed extends Error {
  /** Kebab-case, stable. */
  readonly code: string
  /** What the person does next. */
  readonly repair: string
  readonly exitCode: ExitCode

  constructor(code: string, words: { detail: string; repair: string; exitCode?: ExitCode }) {
    super(words.detail)
    this.name = 'CommandFailed'
    this.code = code
    this.repair = words.repair
    this.exitCode = words.exitCode ?? exitCodes.failed
  }
}
