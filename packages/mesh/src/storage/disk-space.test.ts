import { expect, test } from 'vitest'
import { isDiskFull } from './disk-full.ts'
import { createDiskSpace } from './disk-space.ts'
import { openDatabase } from './database.ts'

function aRoom(free = 1024 ** 3) {
  let now = 0
  const known = { free }
  const room = createDiskSpace({
    folder: '/home',
    clock: { now: () => now, sleep: async () => {} },
    freeBytes: () => known.free,
  })
  return { room, known, pass: (ms: number) => (now += ms) }
}

/** What SQLite really throws when its file may not grow. */
function fullError(onError?: (error: unknown) => void): unknown {
  const database = openDatabase(':memory:', onError ? { onError } : {})
  database.exec('CREATE TABLE t (x BLOB); PRAGMA max_page_count = 3')
  try {
    database.transaction(() => database.prepare('INSERT INTO t VALUES (zeroblob(100000))').run())
  } catch (error) {
    return error
  }
  throw new Error('the database grew')
}

test('with room nothing is refused', () => {
  const { room } = aRoom()
  expect(room.shortage()).toBeNull()
  room.require()
})

test('new work is refused while the last 32 MB are left for work that was accepted', () => {
  const { room, known } = aRoom(32 * 1024 * 1024 - 1)
  expect(room.shortage()).toContain('31 MB free where /home is')
  expect(() => room.require()).toThrow(expect.objectContaining({ code: 'disk-full' }) as Error)
  known.free += 1
  room.require()
})

test('a write that failed keeps new work out for five seconds', () => {
  const { room, pass } = aRoom()
  room.noteError(new Error('something else'))
  room.require()
  room.noteError(fullError())
  expect(room.shortage()).toContain('could not be written')
  pass(5000)
  room.require()
})

test('a clock that was set back keeps new work out no longer', () => {
  const { room, pass } = aRoom()
  room.noteError(fullError())
  pass(-3_600_000)
  expect(room.shortage()).toBeNull()
})

test('the database tells its errors once each', () => {
  const heard: unknown[] = []
  const thrown = fullError((error) => heard.push(error))
  expect(heard).toEqual([thrown])
  expect(isDiskFull(thrown)).toBe(true)
})
