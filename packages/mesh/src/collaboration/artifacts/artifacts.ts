import type { Clock } from '@flotilla/protocol/clock'
import type { EventBus } from '../../events/index.ts'
import type { Journal } from '../../journal/index.ts'
import type { Log } from '../../platform/index.ts'
import type { Guard } from '../../access/index.ts'
import type { Database } from '../../storage/index.ts'
import { createArtifactFiles } from './artifact-files.ts'
import { createArtifactTable } from './artifact-table.ts'
import { listArtifacts, listArtifactsOf, listShared, readArtifact } from './read-artifact.ts'
import type {
  ArtifactWalls,
  ListArtifacts,
  ListArtifactsOf,
  ListShared,
  ReadArtifact,
} from './read-artifact.ts'
import { createTurns, saveArtifact } from './save-artifact.ts'
import type { SaveArtifact, SaveArtifactDeps } from './save-artifact.ts'

export interface Artifacts {
  readonly save: SaveArtifact
  readonly list: ListArtifacts
  readonly listOf: ListArtifactsOf
  readonly listShared: ListShared
  readonly read: ReadArtifact
  /** Bytes and rows of an agent that is deleted. Idempotent. */
  forget(agentId: string): Promise<void>
  /**
   * What members shared in a project: rows in the caller's transaction, bytes once it is committed. Bytes that a crash
   * leaves are read by nobody, and go with their agent or with the next file of that name.
   */
  forgetProject(project: string): void
  /** Once at start: drops what a crash left half-written. */
  sweep(): Promise<void>
}

export interface ArtifactDeps {
  readonly database: Database
  readonly clock: Clock
  /** A name for a file that is being written; never used twice. */
  readonly randomToken: () => string
  readonly guard: Guard
  readonly journal: Journal
  readonly events: EventBus
  readonly artifactsFolder: string
  readonly log: Log
  /** Nobody is told where it is left out. */
  readonly saved?: SaveArtifactDeps['saved']
  /** Nobody belongs to a project where it is left out. */
  readonly projectOf?: ArtifactWalls['projectOf']
  /** No task has files where it is left out. */
  readonly sharedByTask?: ArtifactWalls['sharedByTask']
}

/** Files that agents keep outside their containers, for the owner. */
export function createArtifacts(given: ArtifactDeps): Artifacts {
  const deps = { projectOf: () => null, sharedByTask: () => false, saved: () => {}, ...given }
  const table = createArtifactTable(deps.database)
  const files = createArtifactFiles(deps.artifactsFolder, deps.randomToken)
  const inTurn = createTurns()
  return {
    save: saveArtifact({ ...deps, table, files, inTurn }),
    list: listArtifacts({ ...deps, table }),
    listOf: listArtifactsOf({ ...deps, table }),
    listShared: listShared({ ...deps, table }),
    read: readArtifact({ ...deps, table, files }),
    forget: async (agentId) => {
      table.removeAll(agentId)
      await files.removeAll(agentId)
    },
    forgetProject: (project) => {
      const removed = table.removeShared(project)
      deps.database.afterCommit(() => {
        for (const { agentId, name } of removed) {
          // Saved again meanwhile, the name has bytes of its own.
          inTurn(async () => table.find(agentId, name) ?? files.remove(agentId, name)).catch(
            (error: unknown) =>
              deps.log.error(
                { agentId, name, err: error },
                'failed to delete a file of a deleted project; it only uses disk space',
              ),
          )
        }
      })
    },
    sweep: () => files.sweep(),
  }
}
