/** The variable in which an agent process receives its harness: a name, or a `HarnessProgram` as JSON. */
export const harnessVariable = 'FLOTILLA_HARNESS'

/** The harnesses whose configuration Flotilla knows. */
export const harnessNames = ['claude-code', 'codex', 'gemini', 'opencode'] as const
export type HarnessName = (typeof harnessNames)[number]

/** What an agent process starts in place of its own loop. */
export interface HarnessProgram {
  readonly command: readonly string[]
  /** Variables of the harness alone, beside those that all programs of the agent get. */
  readonly environment: Readonly<Record<string, string>>
  /** The mode that each session is set to; absent for the harness's own default. */
  readonly mode?: string
  /** True for a harness that loses a session which it continues in the minute in which it opened the session. */
  readonly continuesInNextMinute?: boolean
  /** A file in the harness's own folder, written before each start; the variable names the folder to the harness. */
  readonly settings?: { readonly variable: string; readonly file: string; readonly content: string }
}

/** The name of the MCP server that offers the tools of the mesh to a harness. */
export const harnessServerName = 'flotilla'
