import type { Environment } from '@flotilla/foundation/config'
import { createLog, openCommandOutput } from '@flotilla/foundation/platform'
import type { Log } from '@flotilla/foundation/platform'

/** What each command of the mesh program receives. */
export interface CommandContext {
  readonly environment: Environment
  /** The environment variables of the process; the vault reads those with two prefixes. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Writes one JSON line to standard output. */
  readonly print: (line: Readonly<Record<string, unknown>>) => void
  /** Aborts when a user or the system asks the process to stop. */
  readonly stopped: AbortSignal
  readonly uid: number
  readonly pid: number
  /** The first words of a command line with which a user starts this program. */
  readonly program: readonly [string, ...string[]]
  /** The folder with templates, cassettes, the agent's sources and the image files. */
  readonly repositoryRoot: string
  /** The backup file to write or read. */
  readonly file?: string
  readonly backup?: {
    /** `plain`: the backup is not encrypted but includes secrets; `none`: the backup has no secrets. */
    readonly secrets: string | undefined
    /** Agents whose data is left out of a backup or restore. */
    readonly without: readonly string[]
  }
  /** True to delete what the command finds; false to only list it. */
  readonly apply?: boolean
  /** Tags of homes that no longer exist and whose resources in the engine are to be listed or deleted. */
  readonly lost?: readonly string[]
  /** True to prepare also what browsers of agents need. */
  readonly browsers?: boolean
}

/** Returns the log of a command. It shares standard output with the lines of `print`. */
export function commandLog({ environment, pid }: Pick<CommandContext, 'environment' | 'pid'>): Log {
  return createLog(environment.logLevel, openCommandOutput(pid))
}
