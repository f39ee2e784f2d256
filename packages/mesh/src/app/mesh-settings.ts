import type { DataPaths, HomeFolder } from '../config/index.ts'
import type { Log } from '../platform/index.ts'
import type { WriteFence } from '../storage/index.ts'
import type { CommandContext } from './commands/command-context.ts'

/** What one mesh is made over. */
export interface MeshSettings {
  readonly context: CommandContext
  readonly home: HomeFolder
  readonly paths: DataPaths
  readonly log: Log
  /** Where meshes of other machines could come to this home; null where none can. */
  readonly fence: WriteFence | null
}
