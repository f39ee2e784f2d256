import { expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { silentLog } from '../platform/index.ts'
import { createDiskSpace, slowCommitMs, slowToldMs } from './disk-space.ts'
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
  const lines: string[] = []
  const keep = (fields: Readonly<Record<string, unknown>>, fact: string) =>
    void lines.push(`${fact} (${String(fields['code'] ?? fields['ms'])})`)
  const log = { debug: keep, info: keep, warn: keep, error: keep }
  const room = createDiskSpace({
    folder: '/home',
    clock,
    log,
    freeRoom: () => known,
  })
  const probe = () => {
    probes += 1
    if (known.fault) throw known.fault
  }
  return { room, probe, known, clock, lines, probes: () => probes }
}

const systemError = (code: string): Error => Object.assign(new Error(code), { code })
const sqliteError = (errcode: number): Error => Object.assign(new Error('sqlite'), { errcode })

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
  expect(room.trouble()).toBeNull()
  room.require()
})

test('new work is refused while the last 32 MB are left for work that was accepted', () => {
  const { room, known } = aRoom(32 * mb - 1)
  expect(room.trouble()).toMatchObject({
    code: 'disk-full',
    detail: expect.stringContaining('31 MB free on the disk of the home'),
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
    log: silentLog,
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
  [11, null],
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
    detail: expect.stringContaining('the last write to the database failed: no space left'),
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

test('the log says once when the trouble begins, when it changes and when it has ended', async () => {
  const { room, probe, known, clock, lines } = aRoom()
  const closing = new AbortController()
  const watching = room.watch(probe, closing.signal)
  known.fault = systemError('EIO')
  room.noteError(known.fault)
  await clock.advance(10_000)
  known.bytes = mb
  await clock.advance(3000)
  known.bytes = 1024 * mb
  known.fault = null
  await clock.advance(3000)
  const [refuses, works] = [/^refusing new work: .*/, /^the storage works again/]
  expect(
    lines.map((line) => [line.match(/\(([^)]*)\)$/)?.[1], refuses.test(line), works.test(line)]),
  ).toEqual([
    ['storage-failing', true, false],
    ['storage-failing', false, true],
    ['disk-full', true, false],
    ['disk-full', false, true],
  ])
  closing.abort()
  await watching
})

test('no path and no words of SQLite or Node are in what clients read of a failed write', () => {
  const { room } = aRoom()
  const failed = new Error('unable to open database file /srv/secret-place/mesh.db')
  room.noteError(Object.assign(failed, { errcode: 14 }))
  expect(room.trouble()?.detail).toBe(
    'the last write to the database failed: a file of the database cannot be opened',
  )
  room.noteError(Object.assign(new Error('UNKNOWN: write /srv/x'), { code: 'UNKNOWN', errno: -122 }))
  expect(room.trouble()).toMatchObject({
    code: 'disk-full',
    detail: 'the last write to the database failed: the disk quota is used up',
  })
})

test('a slow commit is shown for a minute and logged once in it, and a fast one never', async () => {
  const { room, clock, lines } = aRoom()
  room.noteCommit(slowCommitMs - 1)
  expect([room.slow(), lines.length]).toEqual([null, 0])
  room.noteCommit(3000)
  room.noteCommit(4000)
  expect(room.slow()).toContain('took 4.0 s')
  expect(lines.length).toBe(1)
  expect(room.trouble()).toBeNull()
  await clock.advance(slowToldMs + 1)
  expect(room.slow()).toBeNull()
  room.noteCommit(3000)
  expect(lines.length).toBe(2)
})

test('the database reports the time of each commit, in a transaction and outside of one', () => {
  const times: number[] = []
  const database = openDatabase(':memory:', { onCommitted: (ms) => times.push(ms) })
  database.exec('CREATE TABLE t (x)')
  database.transaction(() => database.prepare('INSERT INTO t VALUES (1)').run())
  database.prepare('INSERT INTO t VALUES (2)').run()
  database.prepare('SELECT x FROM t').all()
  expect(times.length).toBe(2)
})
