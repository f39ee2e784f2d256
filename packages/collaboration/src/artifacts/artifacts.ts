import type { Clock } from '@flotilla/protocol/clock'
import { createInTurn } from '@flotilla/protocol/turns'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import type { Guard } from '@flotilla/identity/access'
import type { Database } from '@flotilla/foundation/storage'
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
import { saveArtifact } from './save-artifact.ts'
import type { SaveArtifact, SaveArtifactDeps } from './save-artifact.ts'

export interface Artifacts {
  readonly save: SaveArtifact
  readonly list: ListArtifacts
  readonly listOf: ListArtifactsOf
  readonly listShared: ListShared
  readonly read: ReadArtifact
  /** Deletes bytes and rows of a deleted agent. Idempotent. */
  forget(agentId: string): Promise<void>
  /**
   * Deletes the artifacts shared in a project: rows in the caller's transaction, bytes after its commit. Bytes that a
   * crash leaves behind cannot be read; they are deleted with their agent or replaced by the next file of that name.
   */
  forgetProject(project: string): void
  /** Deletes temporary files that a crash left behind. Called once at start. */
  sweep(): Promise<void>
}

export interface ArtifactDeps {
  readonly database: Database
  readonly clock: Clock
  /** Returns a unique name for a temporary file. */
  readonly randomToken: () => string
  readonly guard: Guard
  readonly journal: Journal
  readonly events: EventBus
  readonly artifactsFolder: string
  readonly log: Log
  /** No notification if omitted. */
  readonly saved?: SaveArtifactDeps['saved']
  /** Returns the agent's project. If omitted, no agent belongs to a project. */
  readonly projectOf?: ArtifactWalls['projectOf']
  /** No task has files if omitted. */
  readonly sharedByTask?: ArtifactWalls['sharedByTask']
}

/** Manages the files that agents save outside their containers. */
export function createArtifacts(given: ArtifactDeps): Artifacts {
  const deps = { projectOf: () => null, sharedByTask: () => false, saved: () => {}, ...given }
  const table = createArtifactTable(deps.database)
  const files = createArtifactFiles(deps.artifactsFolder, deps.randomToken)
  const inTurn = createInTurn()
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
          // If an artifact of this name was saved since, its file must not be removed.
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
