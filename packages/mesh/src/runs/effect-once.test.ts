import { expect, test } from 'vitest'
import { openDatabase } from '../storage/database.ts'
import { allMigrations } from '../storage/all-migrations.ts'
import { migrate } from '../storage/migrate.ts'
import { createEffectOnce } from './effect-once.ts'
import { aLedgerWorld } from './ledger-world.ts'
import type { EffectCall } from './effect-once.ts'

function anEffect() {
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const clock = { now: () => 1000, sleep: async () => {} }
  return {
    database,
    effects: createEffectOnce({ database, clock }),
    again: () => createEffectOnce({ database, clock }),
  }
}

const call: EffectCall = { runId: 'run_1', key: 'run_1:3', request: { to: 'a' }, ifCutOff: 'unknown' }

test('a repeat gets the first answer and does nothing', async () => {
  const { effects } = anEffect()
  let done = 0
  const work = () => ({ count: ++done })
  expect([await effects.once(call, work), await effects.once(call, work)]).toEqual([
    { count: 1 },
    { count: 1 },
  ])
})

test('a repeat while the first is under way joins it', async () => {
  const { effects } = anEffect()
  let done = 0
  const work = async () => {
    await Promise.resolve()
    return ++done
  }
  expect(await Promise.all(Array.from({ length: 20 }, () => effects.once(call, work)))).toEqual(
    Array(20).fill(1),
  )
})

test('the first answer outlives a restart', async () => {
  const { effects, again } = anEffect()
  await effects.once(call, () => 'first')
  expect(await again().once(call, () => 'second')).toBe('first')
})

test('the same key with another request is a conflict', async () => {
  const { effects } = anEffect()
  await effects.once(call, () => 1)
  await expect(effects.once({ ...call, request: { to: 'b' } }, () => 2)).rejects.toMatchObject({
    code: 'conflict',
  })
})

test('a call that failed may be sent again', async () => {
  const { effects } = anEffect()
  await expect(effects.once(call, () => Promise.reject(new Error('far end')))).rejects.toThrow('far end')
  expect(await effects.once(call, () => 'now')).toBe('now')
})

test('a call whose end was never written is of unknown outcome, unless its effect was ours alone', async () => {
  const { database, again } = anEffect()
  const begin = createEffectOnce({ database, clock: { now: () => 1, sleep: async () => {} } })
  void begin.once(call, () => new Promise(() => {}))
  await expect(again().once(call, () => 1)).rejects.toMatchObject({ code: 'outcome-unknown' })
  expect(await again().once({ ...call, ifCutOff: 'again' }, () => 1)).toBe(1)
})

test('a run whose answers fill their room is refused more of them, and another run is not', async () => {
  const { effects, again } = anEffect()
  const large = 'x'.repeat(16 * 1024 * 1024)
  for (let step = 0; step < 4; step++) await effects.once({ ...call, key: `run_1:${step}` }, () => large)
  const next = { ...call, key: 'run_1:next' }
  await expect(effects.once(next, () => 1)).rejects.toMatchObject({ code: 'unprocessable' })
  // Also after a restart; and what was answered is still answered.
  await expect(again().once(next, () => 1)).rejects.toMatchObject({ code: 'unprocessable' })
  expect(await again().once({ ...call, key: 'run_1:2' }, () => 'other')).toBe(large)
  expect(await effects.once({ ...call, runId: 'run_2' }, () => 1)).toBe(1)
})

test('a run that is answered nothing very often fills its room too', async () => {
  const { database, effects } = anEffect()
  database
    .prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 140000)
       INSERT INTO effect (run_id, key, request_digest, begun_at, reply)
       SELECT 'run_1', 'run_1:' || i, 'digest', 1000, '{}' FROM n`,
    )
    .run()
  await expect(effects.once({ ...call, key: 'next' }, () => 1)).rejects.toMatchObject({
    code: 'unprocessable',
  })
  expect(await effects.once({ ...call, runId: 'run_2' }, () => 1)).toBe(1)
})

test('the answers of a run are let go a minute after its end, and not before', async () => {
  const world = aLedgerWorld()
  world.ledger.start()
  const { database, clock } = world
  const effects = createEffectOnce({ database, clock })
  const ended = world.chat('operator')
  const working = world.chat('worker')
  await clock.settle()
  for (const run of [ended, working]) await effects.once({ ...call, runId: run.id }, () => 'kept')
  world.agents.finish('operator')
  await clock.settle()
  const kept = () =>
    database
      .prepare('SELECT run_id FROM effect')
      .all()
      .map((row) => row['run_id'])

  effects.forgetOld()
  expect(kept()).toHaveLength(2)
  await clock.advance(60_000)
  effects.forgetOld()
  expect(kept()).toEqual([working.id])
  await world.ledger.close()
})
