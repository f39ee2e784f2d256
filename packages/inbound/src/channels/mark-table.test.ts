import { expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { openDatabase } from '../../../foundation/src/storage/database.ts'
import { allMigrations } from '../../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../../foundation/src/storage/migrate.ts'
import { createMarkTable } from './mark-table.ts'

test('a mark keeps its last value, also in a reopened table, which deletes old marks', () => {
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const clock = createManualClock()
  const marks = createMarkTable(database, clock)
  expect(marks.read('discord:1')).toBeNull()
  marks.write('discord:1', '5')
  marks.write('discord:1', '7')
  expect(createMarkTable(database, clock).read('discord:1')).toBe('7')
  const later = { ...clock, now: () => clock.now() + 91 * 24 * 3_600_000 }
  expect(createMarkTable(database, later).read('discord:1')).toBeNull()
})
