import {
  meshInternalApi as api,
  meshInternalEndpoints as endpoints,
} from '@flotilla/protocol/mesh-internal-api'
import { backupsFolder, dataLimitBytes } from '@flotilla/foundation/config'
import { alreadySent } from '@flotilla/identity/http'
import type { Kernel, MeshModule } from '@flotilla/identity/kernel'
import type { SandboxRuntime } from '@flotilla/fleet/sandbox'
import type { BackupOptions, MadeBackup } from './make-backup.ts'
import { createRunBackupProgram } from './backup-program.ts'
import { createHomeBackups } from './home-backups.ts'
import { backupPeopleRoutes } from './people.routes.ts'
import { serveReading } from './serve-reading.ts'
import type { RestoredHome, RestoreOptions } from './restore-backup.ts'
import type { ContentSoFar, VerifiedBackup, VerifyOptions } from './verify-backup.ts'

export type { ReadAgentData } from './read-agents.ts'
export { whatIsMissing } from './what-is-missing.ts'
export { heldTrailer, unreadTrailer } from './serve-reading.ts'
export type { MovedBytes } from './report-bytes.ts'

/** Loaded on first use, because the start of a mesh needs none of these modules. */
export async function makeBackup(options: BackupOptions): Promise<MadeBackup> {
  return (await import('./make-backup.ts')).makeBackup(options)
}

export async function verifyBackup(options: VerifyOptions): Promise<VerifiedBackup> {
  return (await import('./verify-backup.ts')).verifyBackup(options)
}

export async function restoreBackup(options: RestoreOptions): Promise<RestoredHome> {
  return (await import('./restore-backup.ts')).restoreBackup(options)
}

export async function requireRoomForRestore(
  home: string,
  content: Pick<ContentSoFar, 'homeBytes' | 'agents'>,
): Promise<void> {
  return (await import('./require-room.ts')).requireRoomForRestore(home, content)
}

/** The maximum number of agents' archives read at once; an agent is frozen while its archive is read. */
const readingsMax = 1

/**
 * The mesh's part of a backup: it serves the data of its agents, one after the other. The separate backup process
 * reads everything else, so that the mesh's event loop is not used for it; `program` starts that process for a
 * page.
 */
export function backupModule(
  kernel: Pick<Kernel, 'guard' | 'settings' | 'log' | 'clock' | 'journal'>,
  needs: {
    readonly runtime: Pick<SandboxRuntime, 'readData'>
    readonly home: string
    readonly program: readonly [string, ...string[]]
    readonly env: Readonly<Record<string, string | undefined>>
  },
): MeshModule<null> {
  const { guard, settings, log } = kernel
  const backups = createHomeBackups({
    ...kernel,
    folder: backupsFolder(needs.home),
    run: createRunBackupProgram(needs),
  })
  let readings = 0
  return {
    api: null,
    routes: {
      people: (surface) => backupPeopleRoutes(surface, backups),
      internal: ({ bind }) =>
        bind(endpoints.agentData, api.agentData, async ({ caller, params, reply }) => {
          guard(caller, { do: 'back-up' })
          if (readings >= readingsMax) {
            await reply.code(503).header('retry-after', '1').send()
            return alreadySent
          }
          readings += 1
          try {
            const data = await needs.runtime.readData(params.id, {
              dataLimitBytes: dataLimitBytes(settings(), params.id),
            })
            if (data === null) {
              await reply.code(204).send()
              return alreadySent
            }
            reply.hijack()
            await serveReading(data, reply.raw, (error) =>
              log.warn(
                { agentId: params.id, err: error },
                'failed to read an agent’s data for a backup; the backup reports the agent',
              ),
            )
            return alreadySent
          } finally {
            readings -= 1
          }
        }),
    },
    close: () => backups.close(),
  }
}
