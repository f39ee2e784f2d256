import type { Environment } from '../../config/index.ts'

/** What every command of the mesh's process is given. */
export interface CommandContext {
  readonly environment: Environment
  /** The process's environment record; the vault reads its two prefixes from it. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Writes one JSON line to standard output. */
  readonly tell: (line: Readonly<Record<string, unknown>>) => void
  /** Aborts when somebody asks the process to stop. */
  readonly stopped: AbortSignal
  readonly uid: number
  readonly pid: number
  /** The first words of a command line that starts this very program. */
  readonly program: readonly [string, ...string[]]
  /** Where templates, cassettes, the agent's sources and the image's files are. */
  readonly repositoryRoot: string
  /** The backup that is made or read. */
  readonly file?: string
  readonly backup?: {
    /** `plain`: with secrets although nothing closes the backup; `none`: without them. */
    readonly secrets: string | undefined
    /** Agents whose data a backup or a restore leaves out. */
    readonly without: readonly string[]
  }
  /** What a command would take away is taken away. */
  readonly apply?: boolean
  /** Homes that are not there, by the tags under which an engine holds what they left. */
  readonly lost?: readonly string[]
  /** What browsers of agents need is made ready too. */
  readonly browsers?: boolean
}
