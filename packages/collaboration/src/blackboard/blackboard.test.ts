import { blackboardShare } from '@flotilla/protocol/blackboard-limits'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import { versionLimits } from '@flotilla/protocol/blackboard-limits'
import { describe, expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { createEventBus } from '../../../foundation/src/events/create-event-bus.ts'
import type { JournalEntry } from '../../../foundation/src/journal/journal.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import type { Action } from '../../../identity/src/access/action.ts'
import { authorize } from '../../../identity/src/access/authorize.ts'
import type { Caller } from '../../../identity/src/access/caller.ts'
import { openDatabase } from '../../../foundation/src/storage/database.ts'
import { allMigrations } from '../../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../../foundation/src/storage/migrate.ts'
import { createBlackboard } from './blackboard.ts'
import { ownLoop } from '../../../testing/src/own-loop.ts'

const owner: Caller = { kind: 'human', role: 'owner', channel: 'cli' }
const agent = (agentId: string): Caller => ({ kind: 'agent', agentId, token: 'door', run: null })

/** Creates a blackboard with the real rules and the given permission records. */
function aBoard(records: Record<string, Partial<PermissionRecord>> = {}) {
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const time = { ms: 1000 }
  const clock = { now: () => time.ms, sleep: async () => {} }
  const events: FleetEventBody[] = []
  const bus = createEventBus({ database, clock, log: silentLog })
  bus.subscribe((event) => void events.push(event.body))
  const journal: JournalEntry[] = []
  const denials: Action[] = []
  const rules = {
    broken: null,
    recordOf: (agentId: string) =>
      records[agentId] ? permissionRecordSchema.parse(records[agentId]) : undefined,
  }
  const decide = (caller: Caller, action: Action) => authorize(rules, caller, action)
  const board = createBlackboard({
    loop: ownLoop(),
    database,
    clock,
    decide,
    guard: (caller, action) => {
      if (decide(caller, action).allowed) return
      denials.push(action)
      throw new Problem('denied')
    },
    journal: { append: (entry) => void journal.push(entry) },
    events: bus,
  })
  return { board, database, time, events, journal, denials }
}

const code = (expected: string) => expect.objectContaining({ code: expected })

describe('the history of a key', () => {
  test('the history of a key lists the newest versions with their writers, newest first', () => {
    const { board, time } = aBoard({ a: { blackboard_write: ['*'] } })
    board.write(agent('a'), { key: 'plan', value: { step: 1 } })
    time.ms = 2000
    board.write(owner, { key: 'plan', value: { step: 2 } })
    expect(board.history(owner, 'plan')).toMatchObject({
      entry: { version: 2, value: { step: 2 } },
      versions: [
        { version: 2, value: { step: 2 }, written_by: 'human:cli', written_at: 2000 },
        { version: 1, value: { step: 1 }, written_by: 'a', written_at: 1000 },
      ],
    })
    for (let step = 3; step <= 30; step++) board.write(owner, { key: 'plan', value: { step } })
    const { versions } = board.history(owner, 'plan')
    expect(versions.map(({ version }) => version)).toEqual(
      Array.from({ length: versionLimits.perKeyMax }, (_, index) => 30 - index),
    )
  })

  test('a rejected write adds no version to the history of a key', () => {
    const { board } = aBoard()
    board.write(owner, { key: 'plan', value: 1 })
    expect(() => board.write(owner, { key: 'plan', value: 2, expectedVersion: 7 })).toThrow(
      code('version-conflict'),
    )
    expect(board.history(owner, 'plan').versions).toHaveLength(1)
  })

  test('deleted or expired entries have no history', () => {
    const { board, time, database } = aBoard()
    board.write(owner, { key: 'secret', value: 'deleted secret' })
    board.remove(owner, 'secret')
    expect(() => board.history(owner, 'secret')).toThrow(code('not-found'))
    board.write(owner, { key: 'secret', value: 'new' })
    expect(board.history(owner, 'secret').versions.map(({ value }) => value)).toEqual(['new'])
    board.write(owner, { key: 'short', value: 'of a minute', ttlSeconds: 60 })
    time.ms += 61_000
    board.sweep()
    expect(
      database.prepare('SELECT count(*) AS count FROM blackboard_versions WHERE key = ?').get('short'),
    ).toEqual({ count: 0 })
  })

  test('histories of all keys share a limit in bytes, and the oldest versions of the largest writer are deleted first', () => {
    const { board, database } = aBoard({ greedy: { blackboard_write: ['*'] } })
    board.write(owner, { key: 'modest', value: 1 })
    for (const key of ['old', 'new']) board.write(agent('greedy'), { key, value: key })
    database
      .prepare('UPDATE blackboard_versions SET size_bytes = ? WHERE key = ?')
      .run(versionLimits.maxBytes - 'old'.length, 'new')
    board.write(agent('greedy'), { key: 'next', value: 1 })
    const kept = (key: string) => board.history(owner, key).versions.length
    expect(['modest', 'old', 'new', 'next'].map(kept)).toEqual([1, 0, 1, 1])
  })

  test('a writer that overwrites its keys in a loop leaves the versions of others', () => {
    const { board, database } = aBoard({ greedy: { blackboard_write: ['*'] } })
    board.write(owner, { key: 'plan', value: 1 })
    database.transaction(() => {
      for (let n = 0; n <= versionLimits.max; n++)
        board.write(agent('greedy'), { key: `own/${n % 2000}`, value: n })
    })
    expect(board.history(owner, 'plan').versions).toHaveLength(1)
    expect(database.prepare('SELECT count(*) AS count FROM blackboard_versions').get()).toEqual({
      count: versionLimits.max,
    })
  })

  test('only agents that may read a key can read its history', () => {
    const { board } = aBoard({ a: { blackboard_read: ['other/*'] } })
    board.write(owner, { key: 'plan', value: 1 })
    expect(() => board.history(agent('a'), 'plan')).toThrow(code('not-found'))
  })
})

describe('writing', () => {
  test('a write returns the entry with version, writer and times, and publishes an event', () => {
    const { board, events, journal, time } = aBoard({ a: { blackboard_write: ['*'] } })
    const first = board.write(agent('a'), { key: 'k/x', value: { n: 1 } })
    time.ms = 2000
    const second = board.write(owner, { key: 'k/x', value: [2] })
    expect(first).toEqual({
      key: 'k/x',
      value: { n: 1 },
      version: 1,
      written_by: 'a',
      created_at: 1000,
      updated_at: 1000,
      expires_at: null,
    })
    expect(second).toMatchObject({
      value: [2],
      version: 2,
      written_by: 'human:cli',
      created_at: 1000,
      updated_at: 2000,
    })
    expect(events[0]).toEqual({ type: 'blackboard.written', key: 'k/x', version: 1, written_by: 'a' })
    expect(journal[1]).toMatchObject({ actor: 'human:cli', action: 'blackboard.written', subject: 'k/x' })
  })

  test('a key outside the patterns is rejected before any other check', () => {
    verifies('resources:permission:blackboard-write')
    const { board, denials, events } = aBoard({ a: { blackboard_write: ['mine/*'] } })
    board.write(agent('a'), { key: 'mine/x', value: 1 })
    expect(() => board.write(agent('a'), { key: 'yours/x', value: 'x'.repeat(1_000_000) })).toThrow(
      code('denied'),
    )
    expect(() => board.write(agent('a'), { key: 'mine/x/y', value: 1 })).toThrow(code('denied'))
    expect(() => board.write(agent('nobody'), { key: 'mine/x', value: 1 })).toThrow(code('denied'))
    expect(denials).toHaveLength(3)
    expect(events).toHaveLength(1)
  })

  test.each(['', '/a', 'a/', 'a//b', 'a/../b', './a', 'a\u0000', 'a\u200Bb', 'a*', 'x'.repeat(513)])(
    'the key %j is refused',
    (key) => {
      const { board } = aBoard()
      expect(() => board.write(owner, { key, value: 1 })).toThrow(code('bad-request'))
    },
  )

  test('a value may have 262144 bytes of JSON and not one more', () => {
    const { board } = aBoard()
    board.write(owner, { key: 'k', value: 'x'.repeat(262_142) })
    expect(() => board.write(owner, { key: 'k', value: 'x'.repeat(262_143) })).toThrow(code('body-too-large'))
    expect(() => board.write(owner, { key: 'k', value: 'ä'.repeat(131_072) })).toThrow(code('body-too-large'))
    expect(board.read(owner, 'k').version).toBe(1)
  })

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER])(
    'a life of %d seconds is refused',
    (ttl) => {
      const { board } = aBoard()
      expect(() => board.write(owner, { key: 'k', value: 1, ttlSeconds: ttl })).toThrow(code('bad-request'))
    },
  )
})

describe('writing with a version', () => {
  test('exactly one of a hundred concurrent claims of a key wins', async () => {
    heedsLesson(64)
    const records = Object.fromEntries(
      Array.from({ length: 100 }, (_v, n) => [`a${n}`, { blackboard_write: ['*'] }]),
    )
    const { board } = aBoard(records)
    const claims = await Promise.allSettled(
      Object.keys(records).map(async (agentId) => {
        await new Promise((resolve) => setImmediate(resolve))
        return board.write(agent(agentId), { key: 'claim', value: agentId, expectedVersion: 0 })
      }),
    )
    const won = claims.filter((claim) => claim.status === 'fulfilled')
    expect(won).toHaveLength(1)
    expect(board.read(owner, 'claim')).toEqual(won[0]?.value)
    const lost = claims.filter((claim) => claim.status === 'rejected').map((claim): unknown => claim.reason)
    expect(lost).toEqual(Array(99).fill(code('version-conflict')))
  })

  test('exactly one of a hundred updates of the same version wins', () => {
    const { board } = aBoard()
    board.write(owner, { key: 'k', value: 0 })
    const ends = Array.from({ length: 100 }, (_v, n) => {
      try {
        return board.write(owner, { key: 'k', value: n + 1, expectedVersion: 1 }).version
      } catch (error) {
        return error
      }
    })
    expect(ends).toEqual([2, ...Array(99).fill(code('version-conflict'))])
    expect(board.read(owner, 'k')).toMatchObject({ value: 1, version: 2 })
  })

  test('two processes on one database file agree on one winner', () => {
    const { board, database } = aBoard()
    // Simulates another connection that writes between this caller's read and its write.
    board.write(owner, { key: 'k', value: 0 })
    database.prepare('UPDATE blackboard SET version = 7').run()
    expect(() => board.write(owner, { key: 'k', value: 1, expectedVersion: 1 })).toThrow(
      code('version-conflict'),
    )
    expect(board.write(owner, { key: 'k', value: 1, expectedVersion: 7 }).version).toBe(8)
  })

  test('a write with the version of a key that does not exist is a conflict and creates nothing', () => {
    const { board, events } = aBoard()
    expect(() => board.write(owner, { key: 'k', value: 1, expectedVersion: 3 })).toThrow(
      code('version-conflict'),
    )
    expect(() => board.read(owner, 'k')).toThrow(code('not-found'))
    expect(events).toEqual([])
  })

  test('a version conflict inside a transaction does not roll back a caller that catches it', () => {
    const { board, database } = aBoard()
    board.write(owner, { key: 'k', value: 0 })
    database.transaction(() => {
      board.write(owner, { key: 'before', value: 1 })
      expect(() => board.write(owner, { key: 'k', value: 1, expectedVersion: 0 })).toThrow(
        code('version-conflict'),
      )
    })
    expect(board.read(owner, 'before').value).toBe(1)
  })
})

describe('the time to live of an entry', () => {
  test('an entry with a time to live expires on time, and each write restarts it', async () => {
    const { board, time } = aBoard()
    expect(board.write(owner, { key: 'k', value: 1, ttlSeconds: 10 }).expires_at).toBe(11_000)
    time.ms = 10_999
    board.write(owner, { key: 'k', value: 2, ttlSeconds: 10 })
    time.ms = 20_998
    expect(board.read(owner, 'k').value).toBe(2)
    time.ms = 20_999
    expect(() => board.read(owner, 'k')).toThrow(code('not-found'))
    expect((await board.list(owner, '')).entries).toEqual([])
  })

  test('a write without a time to live makes the entry permanent', () => {
    const { board, time } = aBoard()
    board.write(owner, { key: 'k', value: 1, ttlSeconds: 10 })
    board.write(owner, { key: 'k', value: 2 })
    time.ms = 1e12
    expect(board.read(owner, 'k').value).toBe(2)
  })

  test('an expired key can be claimed, and its old version is not used again', () => {
    const { board, time } = aBoard()
    board.write(owner, { key: 'k', value: 1, ttlSeconds: 10 })
    time.ms = 20_000
    expect(() => board.write(owner, { key: 'k', value: 2, expectedVersion: 1 })).toThrow(
      code('version-conflict'),
    )
    expect(board.write(owner, { key: 'k', value: 2, expectedVersion: 0 })).toMatchObject({
      version: 2,
      created_at: 20_000,
    })
    expect(() => board.write(owner, { key: 'k', value: 3, expectedVersion: 1 })).toThrow(
      code('version-conflict'),
    )
  })

  test('expired rows are deleted after an hour, and others stay', () => {
    const { board, time } = aBoard()
    board.write(owner, { key: 'k', value: 1, ttlSeconds: 10 })
    board.write(owner, { key: 'stays', value: 1 })
    time.ms = 11_000 + 3600_000 - 1
    expect(board.sweep()).toBe(0)
    time.ms += 1
    expect(board.sweep()).toBe(1)
    expect(board.read(owner, 'stays').value).toBe(1)
  })
})

describe('reading', () => {
  test('missing and forbidden keys give the same answer', () => {
    verifies('resources:permission:blackboard-read')
    const { board } = aBoard({ a: { blackboard_read: ['open/*'] } })
    board.write(owner, { key: 'closed/x', value: 1 })
    board.write(owner, { key: 'open/x', value: 1 })
    const refusal = (key: string) => {
      try {
        return board.read(agent('a'), key)
      } catch (error) {
        return error instanceof Problem ? [error.code, error.detail, error.extra] : error
      }
    }
    expect(refusal('closed/x')).toEqual(refusal('closed/missing'))
    expect(refusal('closed/x')).toEqual(refusal('open/missing'))
    expect(board.read(agent('a'), 'open/x').value).toBe(1)
  })

  test('a list contains only what the caller may read, and records no denial for the rest', async () => {
    const { board, denials } = aBoard({ a: { blackboard_read: ['open/*'] } })
    for (const key of ['open/b', 'closed/x', 'open/a', 'open/c/d', 'opener'])
      board.write(owner, { key, value: 1 })
    const keysOf = async (caller: Caller, prefix: string) =>
      (await board.list(caller, prefix)).entries.map((entry) => entry.key)
    expect(await keysOf(agent('a'), '')).toEqual(['open/a', 'open/b'])
    expect(await keysOf(owner, 'open')).toEqual(['open/a', 'open/b', 'open/c/d', 'opener'])
    expect(await keysOf(owner, 'open/')).toEqual(['open/a', 'open/b', 'open/c/d'])
    expect(await keysOf(owner, 'z')).toEqual([])
    expect(await keysOf(agent('nobody'), '')).toEqual([])
    expect(denials).toEqual([])
  })

  test('a list ends at 1000 entries or 4 MiB and says that it is truncated', async () => {
    const { board } = aBoard()
    for (let n = 0; n < 1001; n++) board.write(owner, { key: `many/${n}`, value: n })
    expect((await board.list(owner, 'many/')).entries).toHaveLength(1000)
    expect((await board.list(owner, 'many/')).truncated).toBe(true)
    for (let n = 0; n < 20; n++) board.write(owner, { key: `big/${n}`, value: 'x'.repeat(262_142) })
    const big = await board.list(owner, 'big/')
    expect([big.entries.length, big.truncated]).toEqual([16, true])
    expect((await board.list(owner, 'many/99')).truncated).toBe(false)
  })

  test('one agent can fill only its share of the keys, and another can still write', () => {
    const all = { blackboard_write: ['*'], blackboard_read: ['*'] }
    const { board } = aBoard({ greedy: all, modest: all })
    const { keys, history } = blackboardShare
    for (let n = 0; n < history.perAgentMax; n++)
      board.write(agent('greedy'), { key: `history/${n}`, value: n })
    expect(() => board.write(agent('greedy'), { key: 'history/more', value: 1 })).toThrow(
      code('unprocessable'),
    )
    for (let n = history.perAgentMax; n < keys.perAgentMax; n++)
      board.write(agent('greedy'), { key: `own/${n}`, value: n })
    expect(() => board.write(agent('greedy'), { key: 'own/more', value: 1 })).toThrow(code('unprocessable'))
    expect(board.write(agent('greedy'), { key: `own/${history.perAgentMax}`, value: 2 }).version).toBe(2)
    expect(board.write(agent('modest'), { key: 'own/more', value: 1 }).version).toBe(1)
    expect(board.write(agent('modest'), { key: 'history/more', value: 1 }).version).toBe(1)
  })

  test('one agent fills its share of the bytes and no more, and can still shorten its values', () => {
    const all = { blackboard_write: ['*'], blackboard_read: ['*'] }
    const { board, database } = aBoard({ greedy: all, modest: all })
    const { bytes } = blackboardShare
    const value = 'x'.repeat(250_000)
    const fill = (writer: string) => {
      for (let n = 0; n < keysOfLargest; n++) {
        try {
          board.write(agent(writer), { key: `${writer}/${n}`, value })
        } catch {
          return n
        }
      }
      return keysOfLargest
    }
    const keysOfLargest = 1000
    const filled = fill('greedy')
    expect(filled).toBe(Math.floor(bytes.perAgentMax / (250_002 + 'greedy/100'.length)))
    const longer = { key: 'greedy/0', value: `${value}${value.slice(0, 12_000)}` }
    for (let n = 1; n < 20; n++) {
      try {
        board.write(agent('greedy'), { key: `greedy/${n}`, value: longer.value })
      } catch {
        break
      }
    }
    expect(() => board.write(agent('greedy'), longer)).toThrow(code('unprocessable'))
    expect(() => board.write(agent('greedy'), { key: 'more', value })).toThrow(
      expect.objectContaining({
        detail: expect.stringContaining(`One agent may write ${bytes.perAgentMax}`),
      }),
    )
    board.write(agent('greedy'), { key: 'greedy/0', value: 'short' })
    board.write(agent('greedy'), { key: 'more', value: 'short' })
    // Others have taken the rest, and each still has its floor.
    database.exec(
      `UPDATE writer_sums SET bytes = ${bytes.max} WHERE written_by = 'greedy' AND table_name = 'blackboard'`,
    )
    board.write(agent('modest'), { key: 'modest/1', value })
    board.write(agent('modest'), { key: 'modest/2', value })
    expect(() => board.write(agent('modest'), { key: 'modest/3', value })).toThrow(code('unprocessable'))
    expect(board.read(agent('modest'), 'modest/1')?.value).toBe(value)
  })

  test('keys in any script are found by their prefix', async () => {
    const { board } = aBoard()
    for (const key of ['ä/1', 'ä/2', 'z', '日本/x', '日本/y']) board.write(owner, { key, value: 1 })
    expect((await board.list(owner, '日本')).entries).toHaveLength(2)
    expect((await board.list(owner, 'ä/')).entries).toHaveLength(2)
  })
})

describe('what a result promotes', () => {
  test("promoted entries are written under the agent's own permissions, and refusals are reported, not thrown", () => {
    verifies('resources:task-result:promotions')
    const { board } = aBoard({ a: { blackboard_write: ['output/*'] } })
    const promotion = board.promote('a', {
      'output/x': { n: 1 },
      'secret/x': 2,
      'output/y': 'x'.repeat(300_000),
    })
    expect(promotion.written).toEqual(['output/x'])
    expect(promotion.refused.map((refusal) => [refusal.key, refusal.code])).toEqual([
      ['secret/x', 'denied'],
      ['output/y', 'body-too-large'],
    ])
    expect(board.read(owner, 'output/x')).toMatchObject({ value: { n: 1 }, written_by: 'a' })
  })

  test('promoted entries are committed or rolled back with the surrounding transaction', () => {
    const { board, database } = aBoard({ a: { blackboard_write: ['output/*'] } })
    const settle = () =>
      database.transaction(() => {
        board.promote('a', { 'output/x': 1, 'secret/x': 2 })
        throw new Error('not settled')
      })
    expect(settle).toThrow('not settled')
    expect(() => board.read(owner, 'output/x')).toThrow(code('not-found'))
    database.transaction(() => board.promote('a', { 'output/x': 1, 'secret/x': 2 }))
    expect(board.read(owner, 'output/x').value).toBe(1)
  })

  test('a result promotes at most a hundred entries', () => {
    const { board } = aBoard({ a: { blackboard_write: ['*'] } })
    const entries = Object.fromEntries(Array.from({ length: 130 }, (_v, n) => [`k${n}`, n]))
    const promotion = board.promote('a', entries)
    expect(promotion.written).toHaveLength(100)
    expect(promotion.refused).toMatchObject([{ key: '30 more', code: 'unprocessable' }])
  })
})
