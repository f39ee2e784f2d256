import { expect, test } from 'vitest'
import { openDatabase } from '../storage/database.ts'
import type { Database } from '../storage/database.ts'
import { allMigrations } from '../storage/migrations/all-migrations.ts'
import { migrate } from '../storage/migrate.ts'
import { giveSchema } from './give-schema.ts'

/** All that stands in a database: what it is made of, and every row of every table. */
function allOf(database: Database): object {
  const objects = database.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name').all()
  const tables = objects.filter(({ type }) => type === 'table').map(({ name }) => String(name))
  // A count of rows that stands at its start is as good as none.
  const some = (name: string) => (name === 'sqlite_sequence' ? 'WHERE seq <> 0' : '')
  const rows = tables.map((name) => [name, database.prepare(`SELECT * FROM "${name}" ${some(name)}`).all()])
  return { objects, rows }
}

test('a new database is given what the steps come to, to the last row', () => {
  const stepped = openDatabase(':memory:')
  migrate(stepped, allMigrations)
  const given = openDatabase(':memory:')
  giveSchema(given)
  expect(allOf(given)).toEqual(allOf(stepped))
  // Again, and by the steps themselves, it is left as it is.
  giveSchema(given)
  migrate(given, allMigrations)
  expect(allOf(given)).toEqual(allOf(stepped))
})
