import type { DataPaths } from './config/data-paths.ts'
import type { Log } from './log.ts'
import { allMigrations } from './storage/all-migrations.ts'
import { openDatabase } from './storage/database.ts'
import { createDiskRoom } from './storage/disk-room.ts'
import { migrate } from './storage/migrate.ts'
import { systemClock } from './system-clock.ts'

/** The mesh's database, brought up to date, and the watch over the room that it has. */
export function composeStorage(paths: DataPaths, log: Log) {
  const diskRoom = createDiskRoom({ folder: paths.dataFolder, clock: systemClock })
  const database = openDatabase(paths.database, {
    onError: diskRoom.noteError,
    onEffectError: (error) => log.error({ err: error }, 'what followed a commit failed'),
  })
  migrate(database, allMigrations, paths.database)
  return { database, diskRoom }
}
