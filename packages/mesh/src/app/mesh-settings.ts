import type { DataPaths, HomeFolder } from '@flotilla/foundation/config'
import type { Log } from '@flotilla/foundation/platform'
import type { WriteFence } from '@flotilla/foundation/storage'
import type { CommandContext } from './commands/command-context.ts'

/** What a mesh is created from. */
export interface MeshSettings {
  readonly context: CommandContext
  readonly home: HomeFolder
  readonly paths: DataPaths
  readonly log: Log
  /** Rejects writes after the home's lease was lost; null if no other machine can use the home. */
  readonly fence: WriteFence | null
}
