import { copyFileSync, existsSync } from 'node:fs'
import { Problem } from '@flotilla/protocol/problem'
import type { Database } from './database.ts'

/** One step of the schema; numbers rise by one and a step that has been released never changes. */
export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
}

/**
 * Brings the schema to the newest version, one transaction per step; a snapshot `<path>.before-<version>` is
 * made first when the file held data. Throws where the file was written by a newer release.
 */
export function migrate(database: Database, migrations: readonly Migration[], path?: string): void {
  const row = database.prepare('PRAGMA user_version').get()
  const current = Number(row?.['user_version'] ?? 0)
  const newest = migrations.at(-1)?.version ?? 0
  if (current > newest) {
    throw new Problem('unprocessable', {
      detail: `the database has schema ${current}, this release knows ${newest}; use the release that wrote it`,
    })
  }
  if (current === newest) return
  if (path && current > 0 && existsSync(path)) {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    copyFileSync(path, `${path}.before-${newest}`)
  }
  for (const step of migrations.filter((migration) => migration.version > current)) {
    database.transaction(() => {
      database.exec(step.sql)
      database.exec(`PRAGMA user_version=${step.version}`)
    })
  }
}
