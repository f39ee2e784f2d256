import { expect, test } from 'vitest'
import { allMigrations } from '../../../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../../../foundation/src/storage/migrate.ts'
import { openDatabase } from '../../../../foundation/src/storage/database.ts'
import { channelLimits } from '../channel-limits.ts'
import { createLetterTable } from './letter-table.ts'
import type { NewLetter } from './letter-table.ts'

const place = { conversationId: '1', threadId: null, isPrivate: true }

function aTable() {
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const table = createLetterTable(database)
  let sources = 0
  const fill = (count: number, letter: Partial<NewLetter>, prefix = 'message:') =>
    database.transaction(() => {
      for (let one = 0; one < count; one++)
        table.add({ channel: 'telegram', place, text: 'x', source: `${prefix}${++sources}`, ...letter }, 0)
    })
  return { table, fill }
}

test('replies to one person, to all strangers, and notices each have a share of the letters that wait', () => {
  const { table, fill } = aTable()
  const { perAgentMax } = channelLimits.openLetters
  const room = (holder: Parameters<typeof table.hasRoom>[1]) => table.hasRoom('telegram', holder)
  fill(perAgentMax, { person: 'ann' })
  expect([room({ person: 'ann' }), room({ person: 'max' }), room({ person: null })]).toEqual([
    false,
    true,
    true,
  ])
  fill(perAgentMax, { senderId: 'stranger' })
  expect([room({ person: null }), room({ person: 'max' }), room('notices')]).toEqual([false, true, true])
  fill(perAgentMax, { person: 'max' }, 'notice:notes:')
  expect([room('notices'), room({ person: 'max' })]).toEqual([false, true])
  expect(table.hasRoom('slack', 'notices')).toBe(true)
})

test('a person whose replies are few has room where letters of others fill the channel', () => {
  const { table, fill } = aTable()
  const { max, floor } = channelLimits.openLetters
  // Outcomes of runs are written in any case, and count in total only.
  fill(max, { person: 'ann', runId: 'run_1' }, 'run:')
  fill(floor - 1, { person: 'ann' })
  expect(table.hasRoom('telegram', { person: 'ann' })).toBe(true)
  fill(1, { person: 'ann' })
  expect(table.hasRoom('telegram', { person: 'ann' })).toBe(false)
  expect(table.hasRoom('telegram', { person: 'max' })).toBe(true)
})
