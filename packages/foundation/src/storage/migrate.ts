import { createHash } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import { openDatabase } from './database.ts'
import type { Database } from './database.ts'

/** One step of the schema. A step that has been released never changes. */
export interface Migration {
  /** The time when it was written, as `YYYYMMDDHHMMSS` (UTC). */
  readonly version: number
  readonly name: string
  readonly sql: string
}

/** How many snapshots from before upgrades are kept beside a database; older ones are deleted with the next. */
export const snapshotsKept = 3
const snapshotMark = '.before-'

const appliedSchema = z.array(z.object({ version: z.number(), name: z.string(), digest: z.string() }))

/**
 * Applies every step that the file lacks, in order, one transaction per step (one for all in a new file). A branch
 * may therefore add a step that is older than another branch's newest. If the file has data, a snapshot
 * `<path>.before-<newest>` is made first. Problem `unprocessable` if a newer release, or another version of a step,
 * wrote the file.
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
  guardSchema(applied, steps, path)
  const seen = new Set(applied.map((row) => row.version))
  const missing = steps.filter((step) => !seen.has(step.version))
  const newest = steps.at(-1)?.version ?? 0
  if (missing.length === 0) return
  if (path && applied.length > 0 && existsSync(path)) {
    snapshot(database, { path, newest, applied: applied.length })
  }
  // A new file gets its whole schema in one transaction, which also waits for the disk only once.
  if (applied.length === 0) database.transaction(() => missing.forEach((step) => applyStep(database, step)))
  else for (const step of missing) applyStep(database, step)
}

function applyStep(database: Database, step: Migration): void {
  database.transaction(() => {
    database.exec(step.sql)
    database
      .prepare('INSERT INTO schema_steps (version, name, digest) VALUES (?, ?, ?)')
      .run(step.version, step.name, digestOf(step))
  })
}

function guardSchema(
  applied: z.infer<typeof appliedSchema>,
  steps: readonly Migration[],
  path: string | undefined,
): void {
  const byVersion = new Map(steps.map((step) => [step.version, step]))
  for (const row of applied) {
    const step = byVersion.get(row.version)
    if (!step) {
      throw new Problem('unprocessable', {
        detail: `the database has schema step ${row.version} (${row.name}), which this release does not know; use the release that wrote the database`,
        repair: wayBack(path),
      })
    }
    if (digestOf(step) !== row.digest) {
      throw new Problem('unprocessable', {
        detail: `schema step ${row.version} (${row.name}) of the database differs from the one of this release; use the release that wrote the database`,
      })
    }
  }
}

/** Explains how to go back. Steps are never undone, because data of a newer release would be lost silently. */
function wayBack(path: string | undefined): string {
  const newest = path === undefined ? undefined : snapshotsOf(path).at(-1)
  const forward = 'Start the newer release again.'
  return newest === undefined
    ? forward
    : `${forward} To go back instead, stop the mesh and replace ${path} with ${newest}, the database from before the upgrade; everything that was stored since is lost.`
}

function stepsIn(path: string): number {
  const database = openDatabase(path)
  try {
    return Number(database.prepare('SELECT count(*) AS count FROM schema_steps').get()?.['count'])
  } finally {
    database.close()
  }
}

/** Snapshots beside the database, oldest step first. */
export function snapshotsOf(path: string): readonly string[] {
  const [folder, prefix] = [dirname(path), `${basename(path)}${snapshotMark}`]
  const stepOf = (name: string) => Number(name.slice(prefix.length))
  return readdirSync(folder)
    .filter((name) => name.startsWith(prefix) && Number.isSafeInteger(stepOf(name)))
    .toSorted((one, other) => stepOf(one) - stepOf(other))
    .map((name) => join(folder, name))
}

function refuseDuplicates(steps: readonly Migration[]): void {
  steps.forEach((step, index) => {
    if (steps[index + 1]?.version === step.version) {
      throw new Error(`two schema steps have version ${step.version}`)
    }
  })
}

/** Returns a digest of a step's SQL that ignores white space, so that a formatter may change a released step. */
function digestOf(step: Migration): string {
  return createHash('sha256').update(step.sql.replaceAll(/\s+/g, ' ').trim()).digest('hex')
}

/** The snapshot gets its name only when it is complete; after an interruption the next start makes it again. */
function snapshot(
  database: Database,
  { path, newest, applied }: { readonly path: string; readonly newest: number; readonly applied: number },
): void {
  const target = `${path}${snapshotMark}${newest}`
  // An interrupted upgrade continues: the existing snapshot is from before its first step.
  if (existsSync(target) && stepsIn(target) < applied) return
  const unfinished = `${target}.new`
  rmSync(unfinished, { force: true })
  database.prepare('VACUUM INTO ?').run(unfinished)
  chmodSync(unfinished, 0o600)
  // SQLite does not sync what it writes here, and the snapshot is trusted by its name.
  syncPath(unfinished)
  renameSync(unfinished, target)
  syncPath(dirname(target))
  for (const old of snapshotsOf(path).slice(0, -snapshotsKept)) rmSync(old, { force: true })
}

/** Waits until a file, or the names in a folder, are on the disk. */
function syncPath(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
