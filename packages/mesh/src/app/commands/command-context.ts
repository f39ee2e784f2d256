import type { Environment } from '@flotilla/foundation/config'

/** What every command of the mesh's process receives. */
export interface CommandContext {
  readonly environment: Environment
  /** The process's environment record; the vault reads its two prefixes from it. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Writes one JSON line to standard output. */
  readonly print: (line: Readonly<Record<string, unknown>>) => void
  /** Aborts when the process is asked to stop. */
  readonly stopped: AbortSignal
  readonly uid: number
  readonly pid: number
  /** The first words of a command line that starts this program. */
  readonly program: readonly [string, ...string[]]
  /** The folder with templates, cassettes, the agent's sources and the image files. */
  readonly repositoryRoot: string
  /** The backup file to write or read. */
  readonly file?: string
  readonly backup?: {
    /** `plain`: includes secrets although the backup is not encrypted; `none`: without secrets. */
    readonly secrets: string | undefined
    /** Agents whose data is left out of a backup or restore. */
    readonly without: readonly string[]
  }
  /** True to delete what the command finds, false for a dry run. */
  readonly apply?: boolean
  /** Tags of homes that no longer exist, whose resources on the engine should be listed or deleted. */
  readonly lost?: readonly string[]
  /** True to prepare browsers of agents too. */
  readonly browsers?: boolean
}
