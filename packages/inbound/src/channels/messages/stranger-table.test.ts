import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDatabase } from '../../../../foundation/src/storage/index.ts'
import type { Database } from '../../../../foundation/src/storage/index.ts'
import { allMigrations } from '../../../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../../../foundation/src/storage/migrate.ts'
import { channelLimits } from '../channel-limits.ts'
import { createStrangerTable } from './stranger-table.ts'
import type { StrangerTable } from './stranger-table.ts'

const minuteMs = 60_000
const dayMs = 24 * 3_600_000
const start = 1_800_000_000_000
const half = channelLimits.strangersAnsweredPerMinute / 2

let database: Database
let strangers: StrangerTable
beforeEach(() => {
  database = openDatabase(':memory:')
  migrate(database, allMigrations)
  strangers = createStrangerTable(database)
})
afterEach(() => database.close())

const count = () => Number(database.prepare('SELECT count(*) AS n FROM channel_strangers').get()?.['n'])
const flood = (from: number, many: number, now: number) =>
  Array.from({ length: many }, (_one, index) => strangers.refuse('slack', `s${from + index}`, now))

test('a stranger gets one reply on each channel, and another one after having been linked', () => {
  expect(strangers.refuse('slack', 'ann', start)).toBe(true)
  expect(strangers.refuse('slack', 'ann', start + dayMs)).toBe(false)
  expect(strangers.refuse('discord', 'ann', start)).toBe(true)
  strangers.forget('slack', 'bob')
  strangers.forget('slack', 'ann')
  expect(strangers.refuse('slack', 'ann', start + dayMs)).toBe(true)
  expect(strangers.refuse('discord', 'ann', start + dayMs)).toBe(false)
})

test('in a flood half of the replies go to new strangers, and half are reserved for those who ask again', () => {
  expect(flood(0, half, start)).toEqual(Array.from({ length: half }, () => true))
  expect(flood(100, 3, start + 1)).toEqual([false, false, false])
  // Another channel has its own limit.
  expect(strangers.refuse('discord', 's100', start + 1)).toBe(true)
  expect(flood(100, 3, start + 2)).toEqual([true, true, true])
  flood(200, half, start + 3)
  expect(flood(200, half, start + 4).filter(Boolean)).toHaveLength(half - 3)
  expect(count()).toBe(2 * half + 1)
})

test('a minute later strangers get replies again, and not before', () => {
  flood(0, half, start)
  expect(strangers.refuse('slack', 'ann', start + minuteMs - 1)).toBe(false)
  expect(strangers.refuse('slack', 'bob', start + minuteMs)).toBe(true)
})

test('with a full table the stranger who was refused first is forgotten', () => {
  const insert = database.prepare(
    'INSERT INTO channel_strangers (channel, sender_id, refused_at) VALUES (?, ?, ?)',
  )
  database.transaction(() => {
    for (let one = 0; one < channelLimits.strangersMax; one++) insert.run('slack', `old${one}`, start + one)
    insert.run('discord', 'older', start - 1)
  })
  const now = start + channelLimits.strangersMax + minuteMs
  expect(strangers.refuse('slack', 'new', now)).toBe(true)
  expect(count()).toBe(channelLimits.strangersMax + 1)
  expect(strangers.refuse('slack', 'old1', now)).toBe(false)
  expect(strangers.refuse('slack', 'old0', now)).toBe(true)
  expect(strangers.refuse('discord', 'older', now)).toBe(false)
})

test('a stranger gets another reply after a month, and not before', () => {
  strangers.refuse('slack', 'ann', start)
  strangers.trim(start + 30 * dayMs)
  expect(count()).toBe(1)
  strangers.trim(start + 30 * dayMs + 1)
  expect(count()).toBe(0)
})
