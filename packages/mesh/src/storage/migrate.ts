import { createHash } from 'node:crypto'
import { chmodSync, existsSync, rmSync } from 'node:fs'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import type { Database } from './database.ts'

/** One step of the schema. A step that has been released never changes. */
export interface Migration {
  /** The moment it was written, as `YYYYMMDDHHMMSS`; the first steps have small numbers. */
  readonly version: number
  readonly name: string
  readonly sql: string
}

const appliedSchema = z.array(z.object({ version: z.number(), name: z.string(), digest: z.string() }))

/**
 * Applies every step that the file has not seen, in rising order, one transaction per step, so that a
 * branch may bring a step that is older than another's newest. A snapshot `<path>.before-<newest>` is made first when the file held
 * data. Problem `unprocessable` where the file was written by a newer release, or by another text of a step.
 */
export function migrate(database: Database, migrations: readonly Migration[], path?: string): void {
  const steps = [...migrations].sort((one, other) => one.version - other.version)
  refuseDuplicates(steps)
  database.exec(
    'CREATE TABLE IF NOT EXISTS schema_steps (version INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL) STRICT',
  )
  const applied = appliedSchema.parse(
    database.prepare('SELECT version, name, digest FROM schema_steps ORDER BY version').all(),
  )
  guardSchema(applied, steps)
  const seen = new Set(applied.map((row) => row.version))
  const missing = steps.filter((step) => !seen.has(step.version))
  const newest = steps.at(-1)?.version ?? 0
  if (missing.length === 0) return
  if (path && applied.length > 0 && existsSync(path)) snapshot(database, `${path}.before-${newest}`)
  for (const step of missing) applyStep(database, step)
}

function applyStep(database: Database, step: Migration): void {
  database.transaction(() => {
    database.exec(step.sql)
    database
      .prepare('INSERT INTO schema_steps (version, name, digest) VALUES (?, ?, ?)')
      .run(step.version, step.name, digestOf(step))
  })
}

function guardSchema(applied: z.infer<typeof appliedSchema>, steps: readonly Migration[]): void {
  const byVersion = new Map(steps.map((step) => [step.version, step]))
  for (const row of applied) {
    const step = byVersion.get(row.version)
    if (!step) {
      throw new Problem('unprocessable', {
        detail: `the database has schema step ${row.version} (${row.name}), which this release does not know; use the release that wrote it`,
      })
    }
    if (digestOf(step) !== row.digest) {
      throw new Problem('unprocessable', {
        detail: `schema step ${row.version} (${row.name}) is not the one that this database was made with; use the release that wrote it`,
      })
    }
  }
}

function refuseDuplicates(steps: readonly Migration[]): void {
  steps.forEach((step, index) => {
    if (steps[index + 1]?.version === step.version) {
      throw new Error(`two schema steps have version ${step.version}`)
    }
  })
}

/** Indentation does not count, so that a formatter may touch a released step. */
function digestOf(step: Migration): string {
  return createHash('sha256').update(step.sql.replaceAll(/\s+/g, ' ').trim()).digest('hex')
}

function snapshot(database: Database, target: string): void {
  rmSync(target, { force: true })
  database.prepare('VACUUM INTO ?').run(target)
  chmodSync(target, 0o600)
}
