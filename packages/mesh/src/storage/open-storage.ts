import type { Clock } from '@flotilla/protocol/clock'
import { allMigrations } from './migrations/all-migrations.ts'
import { openDatabase } from './database.ts'
import type { Database } from './database.ts'
import { createDiskRoom } from './disk-room.ts'
import type { DiskRoom } from './disk-room.ts'
import { migrate } from './migrate.ts'

/** The mesh's database, brought up to date, and the watch over the room that it has. */
export function openStorage(deps: {
  readonly path: string
  /** Whose disk is watched. */
  readonly folder: string
  readonly clock: Clock
  /** What was to follow a commit and failed. */
  readonly onEffectError: (error: unknown) => void
}): { readonly database: Database; readonly diskRoom: DiskRoom } {
  const diskRoom = createDiskRoom(deps)
  const database = openDatabase(deps.path, {
    onError: diskRoom.noteError,
    onEffectError: deps.onEffectError,
  })
  migrate(database, allMigrations, deps.path)
  return { database, diskRoom }
}
