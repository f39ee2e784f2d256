import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { allMigrations } from './migrations/all-migrations.ts'
import { openDatabase } from './database.ts'
import type { Database } from './database.ts'
import { migrate } from './migrate.ts'
import type { Migration } from './migrate.ts'

const folders: string[] = []
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })))

function aFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-migrate-'))
  folders.push(folder)
  return join(folder, 'mesh.db')
}

const step = (version: number, sql = `CREATE TABLE t${version} (id INTEGER)`): Migration => ({
  version,
  name: `step ${version}`,
  sql,
})

const tablesOf = (database: Database) =>
  database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 't%' ORDER BY name")
    .all()
    .map((row) => row['name'])

const newestOf = (database: Database) =>
  database.prepare('SELECT max(version) AS newest FROM schema_steps').get()?.['newest']

describe('migrations', () => {
  test('run in rising order, whatever the order of the list and the gaps in it', () => {
    const database = openDatabase(':memory:')
    migrate(database, [step(30, 'ALTER TABLE t1 ADD COLUMN extra INTEGER'), step(1), step(10)])
    expect(tablesOf(database)).toEqual(['t1', 't10'])
    expect(newestOf(database)).toBe(30)
  })

  test('a migration that fills a gap below the newest runs too', () => {
    const database = openDatabase(':memory:')
    migrate(database, [step(1), step(30)])
    migrate(database, [step(1), step(2), step(30)])
    expect(tablesOf(database)).toEqual(['t1', 't2', 't30'])
    expect(newestOf(database)).toBe(30)
  })

  test('migrations run once', () => {
    const database = openDatabase(':memory:')
    migrate(database, [step(1)])
    migrate(database, [step(1)])
    expect(tablesOf(database)).toEqual(['t1'])
  })

  test('a failing migration leaves nothing of its step, and keeps the steps before', () => {
    const database = openDatabase(':memory:')
    const broken = step(2, 'CREATE TABLE t2 (id INTEGER); CREATE TABLE t1 (id INTEGER)')
    migrate(database, [step(1)])
    const third = step(3)
    expect(() => migrate(database, [step(1), broken, third])).toThrow('t1')
    expect(tablesOf(database)).toEqual(['t1'])
    migrate(database, [step(1), step(2), third])
    expect(tablesOf(database)).toEqual(['t1', 't2', 't3'])
  })

  test('a failing migration in a new file leaves nothing at all', () => {
    const database = openDatabase(':memory:')
    const broken = step(2, 'CREATE TABLE t2 (id INTEGER); CREATE TABLE t1 (id INTEGER)')
    expect(() => migrate(database, [step(1), broken])).toThrow('t1')
    expect(tablesOf(database)).toEqual([])
    migrate(database, [step(1), step(2)])
    expect(tablesOf(database)).toEqual(['t1', 't2'])
  })

  test('a database of a newer release is refused, and so is one made with another text of a step', () => {
    const database = openDatabase(':memory:')
    migrate(database, [step(1), step(2)])
    const unprocessable = expect.objectContaining({ code: 'unprocessable' })
    expect(() => migrate(database, [step(1)])).toThrow(unprocessable)
    expect(() => migrate(database, [step(1), step(2, 'CREATE TABLE t2 (name TEXT)')])).toThrow(unprocessable)
    expect(() => migrate(database, [step(1), step(2, 'CREATE  TABLE t2\n (id INTEGER) ')])).not.toThrow()
  })

  test('two steps with one number are a mistake of the program', () => {
    expect(() => migrate(openDatabase(':memory:'), [step(1), step(1)])).toThrow('two schema steps')
  })

  test('a snapshot with the old data is made before a step, and none for a new file', () => {
    const path = aFile()
    const database = openDatabase(path)
    migrate(database, [step(1)], path)
    expect(existsSync(`${path}.before-1`)).toBe(false)
    database.exec('INSERT INTO t1 (id) VALUES (7)')
    migrate(database, [step(1), step(2, 'DROP TABLE t1')], path)
    const snapshot = openDatabase(`${path}.before-2`)
    expect(snapshot.prepare('SELECT id FROM t1').all()).toEqual([{ id: 7 }])
    expect(statSync(`${path}.before-2`).mode & 0o777).toBe(0o600)
    snapshot.close()
    database.close()
  })

  test('three snapshots are kept, and the error of a newer database names the youngest', () => {
    const path = aFile()
    const database = openDatabase(path)
    const steps = [1, 2, 3, 4, 5, 6].map((version) => step(version))
    for (const count of [1, 2, 3, 4, 5, 6]) migrate(database, steps.slice(0, count), path)
    const names = readdirSync(join(path, '..')).filter((name) => /before-\d+$/.test(name))
    expect(names.toSorted()).toEqual(['mesh.db.before-4', 'mesh.db.before-5', 'mesh.db.before-6'])
    expect(() => migrate(database, steps.slice(0, 5), path)).toThrow(
      expect.objectContaining({
        detail: expect.stringContaining('schema step 6'),
        repair: expect.stringContaining(`${path}.before-6`),
      }),
    )
    database.close()
  })

  test('an upgrade that was cut off between two steps keeps the snapshot from before the first', () => {
    const path = aFile()
    const database = openDatabase(path)
    migrate(database, [step(1)], path)
    const broken = [step(1), step(2), step(3, 'CREATE TABLE t1 (id INTEGER)')]
    expect(() => migrate(database, broken, path)).toThrow('t1')
    expect(() => migrate(database, broken, path)).toThrow('t1')
    const kept = openDatabase(`${path}.before-3`)
    expect(tablesOf(kept)).toEqual(['t1'])
    kept.close()
    database.close()
  })

  test('a step has its creation time as version, also in its file name', () => {
    const files = readdirSync(join(import.meta.dirname, 'migrations'))
    for (const { version } of allMigrations) {
      expect(String(version)).toMatch(
        /^20\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([01]\d|2[0-3])([0-5]\d){2}$/,
      )
      expect(files.some((name) => name.startsWith(`${version}-`))).toBe(true)
    }
    const steps = files.filter((name) => name !== 'all-migrations.ts' && !name.endsWith('.test.ts'))
    expect(steps).toHaveLength(allMigrations.length)
  })

  test('the steps of this release build a database', () => {
    const database = openDatabase(':memory:')
    migrate(database, allMigrations)
    expect(database.prepare('SELECT count(*) AS count FROM schema_steps').get()).toEqual({
      count: allMigrations.length,
    })
  })
})
