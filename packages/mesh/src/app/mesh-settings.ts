import type { DataPaths, HomeFolder } from '../config/index.ts'
import type { Log } from '../platform/index.ts'
import type { WriteFence } from '../storage/index.ts'
import type { CommandContext } from './commands/command-context.ts'

/** What a mesh is created from. */
export interface MeshSettings {
  readonly context: CommandContext
  readonly home: HomeFolder
  readonly paths: DataPaths
  readonly log: Log
  /** Rejects writes after the lease was lost; null if no other machine can use this home. */
  readonly fence: WriteFence | null
}
