import type { DataPaths, HomeFolder } from '../config/index.ts'
import type { Log } from '../platform/index.ts'
import type { CommandContext } from './commands/command-context.ts'

/** What one mesh is made over. */
export interface MeshSettings {
  readonly context: CommandContext
  readonly home: HomeFolder
  readonly paths: DataPaths
  readonly log: Log
}
