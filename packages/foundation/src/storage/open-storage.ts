import type { Clock } from '@flotilla/protocol/clock'
import { allMigrations } from './migrations/all-migrations.ts'
import { openDatabase } from './database.ts'
import type { Database, WriteFence } from './database.ts'
import { createDiskSpace } from './disk-space.ts'
import type { DiskSpace } from './disk-space.ts'
import { migrate } from './migrate.ts'

/** The newest step of the schema that this release has. */
export const newestSchemaStep = Math.max(...allMigrations.map(({ version }) => version))

/** Opens and migrates the mesh's database, and starts to watch its free disk space. */
export function openStorage(deps: {
  readonly path: string
  /** The folder whose disk is watched. */
  readonly folder: string
  readonly clock: Clock
  /** Absent if only one machine can use the home. */
  readonly fence?: WriteFence | undefined
  /** Called with errors of effects after a commit. */
  readonly onEffectError: (error: unknown) => void
}): { readonly database: Database; readonly diskSpace: DiskSpace } {
  const diskSpace = createDiskSpace(deps)
  const database = openDatabase(deps.path, {
    onError: diskSpace.noteError,
    onEffectError: deps.onEffectError,
    ...(deps.fence ? { fence: deps.fence } : {}),
  })
  migrate(database, allMigrations, deps.path)
  return { database, diskSpace }
}

/** Tests a write: writes a page of the database unchanged, which reaches the disk like any other write. */
export function writeAgain(database: Database): void {
  database.transaction(() => {
    const row = database.prepare('PRAGMA application_id').get()
    database.exec(`PRAGMA application_id = ${Number(row?.['application_id'] ?? 0)}`)
  })
}
