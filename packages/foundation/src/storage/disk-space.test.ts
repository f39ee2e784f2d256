import { expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { createDiskSpace } from './disk-space.ts'
import { openDatabase } from './database.ts'
import { storageFaultOf } from './storage-fault.ts'

const mb = 1024 * 1024

function aRoom(bytes = 1024 * mb) {
  const known: { bytes: number; files: number | null; fault: Error | null } = {
    bytes,
    files: null,
    fault: null,
  }
  const clock = createManualClock()
  let probes = 0
  const room = createDiskSpace({
    folder: '/home',
    clock,
    freeRoom: () => known,
  })
  const probe = () => {
    probes += 1
    if (known.fault) throw known.fault
  }
  return { room, probe, known, clock, probes: () => probes }
}

const systemError = (code: string): Error => Object.assign(new Error(code), { code })
const sqliteError = (errcode: number): Error => Object.assign(new Error('sqlite'), { errcode })

/** The real error of SQLite when its file cannot grow. */
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

test('with free disk space nothing is refused', () => {
  const { room } = aRoom()
  expect(room.trouble()).toBeNull()
  room.require()
})

test('new work is refused while the last 32 MB are left for work that was accepted', () => {
  const { room, known } = aRoom(32 * mb - 1)
  expect(room.trouble()).toMatchObject({
    code: 'disk-full',
    detail: expect.stringContaining('the disk of /home has 31 MB free'),
  })
  expect(() => room.require()).toThrow(expect.objectContaining({ code: 'disk-full' }) as Error)
  known.bytes += 1
  room.require()
})

test('new work is refused while the file system has few inodes left, where it counts them', () => {
  const { room, known } = aRoom()
  known.files = 63
  expect(room.trouble()).toMatchObject({
    code: 'disk-full',
    detail: expect.stringContaining('63 files (inodes) free'),
  })
  known.files = 64
  room.require()
})

test('a file system that cannot even be asked refuses new work and throws nothing else', () => {
  const clock = createManualClock()
  const room = createDiskSpace({
    folder: '/home',
    clock,
    freeRoom: () => {
      throw systemError('EIO')
    },
  })
  expect(room.trouble()?.code).toBe('storage-failing')
})

test.each([
  ['ENOSPC', 'disk-full'],
  ['EDQUOT', 'disk-full'],
  ['EFBIG', 'disk-full'],
  ['EROFS', 'storage-failing'],
  ['EIO', 'storage-failing'],
  ['ESTALE', 'storage-failing'],
  ['EMFILE', 'too-many-files'],
  ['ENFILE', 'too-many-files'],
  ['ECONNREFUSED', null],
  ['ENOENT', null],
])('the error %s of the system is %s, also behind errors that wrap it', (code, fault) => {
  expect(storageFaultOf(systemError(code))).toBe(fault)
  expect(
    storageFaultOf(new Error('outer', { cause: new Error('inner', { cause: systemError(code) }) })),
  ).toBe(fault)
})

test.each([
  [13, 'disk-full'],
  [10, 'storage-failing'],
  [778, 'storage-failing'],
  [4874, 'disk-full'],
  [8, 'storage-failing'],
  [776, 'storage-failing'],
  [14, 'storage-failing'],
  [5, 'storage-failing'],
  [19, null],
  [11, 'storage-failing'],
  [267, 'storage-failing'],
])('the result code %i of SQLite is %s', (code, fault) => {
  expect(storageFaultOf(sqliteError(code))).toBe(fault)
})

test('an error that causes itself is looked into for a bounded time', () => {
  const error = new Error('a circle')
  error.cause = error
  expect(storageFaultOf(error)).toBeNull()
})

test('a write that failed keeps new work out until a tried write succeeds, and no longer', async () => {
  const { room, probe, known, clock, probes } = aRoom()
  const closing = new AbortController()
  const watching = room.watch(probe, closing.signal)
  room.noteError(new Error('something else'))
  room.require()
  await clock.advance(3000)
  expect(probes()).toBe(0)
  room.noteError(fullError())
  expect(room.trouble()).toMatchObject({
    code: 'disk-full',
    detail: expect.stringContaining('could not be written'),
  })
  known.fault = systemError('EROFS')
  await clock.advance(60_000)
  expect(room.trouble()?.code).toBe('storage-failing')
  expect(() => room.require()).toThrow(
    expect.objectContaining({ code: 'storage-failing', retryAfterSeconds: 5 }) as Error,
  )
  known.fault = null
  await clock.advance(1000)
  room.require()
  closing.abort()
  await watching
})

test('the database reports the error of every failed write once, in a transaction and outside of one', () => {
  const heard: unknown[] = []
  const thrown = fullError((error) => heard.push(error))
  expect(heard).toEqual([thrown])
  const database = openDatabase(':memory:', { onError: (error) => heard.push(storageFaultOf(error)) })
  database.exec('CREATE TABLE t (x); PRAGMA query_only = ON')
  const insert = database.prepare('INSERT INTO t VALUES (1)')
  expect(() => insert.run()).toThrow('readonly')
  expect(() => database.transaction(() => insert.run())).toThrow('readonly')
  expect(heard.slice(1)).toEqual(['storage-failing', 'storage-failing'])
})
