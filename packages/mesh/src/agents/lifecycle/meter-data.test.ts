import { afterEach, describe, expect, test } from 'vitest'
import { aWorker, owner, patient, reasonOf, stateOf } from '../../testing/fleet-harness.ts'
import type { FleetHarness } from '../../testing/fleet-harness.ts'
import { judgeData } from './judge-data.ts'

let world: FleetHarness
afterEach(() => world?.close())

const limitBytes = 100 * 1024 * 1024
const use = (bytes: number, more: { files?: number; complete?: boolean } = {}) => ({
  bytes,
  files: 1,
  complete: true,
  ...more,
})

async function sweepAfter(ms: number): Promise<void> {
  await world.clock.advance(ms)
  await world.fleet.lifecycle.sweep()
}

describe('the verdict on what an agent keeps', () => {
  test.each([
    ['nothing', use(0), null],
    ['just its limit', use(limitBytes), null],
    ['a byte more', use(limitBytes + 1), '101 MB of 100 MB'],
    ['more than was counted', use(limitBytes * 2, { complete: false }), 'at least 200 MB'],
    ['as many files as it may', use(1, { files: 16_384 }), null],
    ['one file too many', use(1, { files: 16_385 }), '16385 files of 16384'],
  ])('of %s', (_what, found, said) => {
    const verdict = judgeData('w', found, limitBytes)
    if (said === null) expect(verdict).toBeNull()
    else {
      expect(verdict).toContain(said)
      expect(verdict).toMatch(/^data-full: .*data_limit_mb.*flotilla restart w$/)
    }
  })
})

describe('an agent whose data is metered', () => {
  test('runs on within its limit', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    world.runtime.uses.set('w', use(limitBytes))
    await sweepAfter(60_000)
    expect(stateOf(world.fleet, 'w')).toBe('running')
    expect(world.runtime.measured).toEqual([['w']])
  })

  test('is stopped over its limit with the reason, and its run is told', async () => {
    world = await aWorker()
    const gone: unknown[] = []
    world.deps.hooks.sandboxGone.subscribe((end) => gone.push(end))
    await world.fleet.connection.ensureRunning('w', patient)
    world.runtime.uses.set('w', use(limitBytes * 3))
    await sweepAfter(60_000)
    expect(stateOf(world.fleet, 'w')).toBe('restarting')
    expect(world.runtime.isRunning('w')).toBe(false)
    expect(world.fleet.connection.verifyToken(world.runtime.doorTokens[0] ?? '')).toBeNull()
    expect(world.events.at(-1)).toMatchObject({
      type: 'agent.stopped',
      reason: expect.stringContaining('300 MB of 100 MB') as unknown,
    })
    expect(world.journal.at(-1)?.action).toBe('agent.data-full')
    expect(gone).toEqual([{ agentId: 'w', reason: 'stopped' }])
  })

  test('is not started until it keeps less, then it is by itself', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    world.runtime.uses.set('w', use(limitBytes * 3))
    await sweepAfter(60_000)
    await expect(world.fleet.connection.ensureRunning('w', patient)).rejects.toMatchObject({
      code: 'data-full',
    })
    await expect(world.fleet.lifecycle.restart(owner, 'w')).rejects.toMatchObject({ code: 'data-full' })
    expect(world.runtime.started).toHaveLength(1)
    await sweepAfter(60_000)
    expect(stateOf(world.fleet, 'w')).toBe('restarting')
    world.runtime.uses.set('w', use(5))
    await sweepAfter(600_000)
    expect(stateOf(world.fleet, 'w')).toBe('running')
  })

  test('is started again once its limit is raised', async () => {
    let limit = limitBytes
    world = await aWorker({ dataLimitBytes: () => limit })
    await world.fleet.connection.ensureRunning('w', patient)
    world.runtime.uses.set('w', use(limitBytes * 3))
    await sweepAfter(60_000)
    limit = limitBytes * 4
    await world.fleet.lifecycle.restart(owner, 'w')
    expect(stateOf(world.fleet, 'w')).toBe('running')
    expect(world.runtime.started.at(-1)?.dataLimitBytes).toBe(limit)
  })

  test('is counted once a minute at most, and a start that has no reason to wait does not', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    await world.fleet.lifecycle.restart(owner, 'w')
    expect(world.runtime.measured).toEqual([])
    for (let sweeps = 0; sweeps < 8; sweeps++) await sweepAfter(15_000)
    expect(world.runtime.measured).toHaveLength(2)
  })

  test('goes on when counting fails', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    world.runtime.measureData = () => Promise.reject(new Error('no engine'))
    await sweepAfter(60_000)
    expect(stateOf(world.fleet, 'w')).toBe('running')
    expect(await reasonOf(world.fleet.lifecycle.sweep())).toBe('')
  })
})

test('what a start could not have as asked is told, and the agent runs', async () => {
  world = await aWorker()
  world.runtime.warnings = ['the limit of 64 MB is below what its data takes']
  await world.fleet.connection.ensureRunning('w', patient)
  expect(stateOf(world.fleet, 'w')).toBe('running')
  expect(world.events.at(-1)).toEqual({
    type: 'agent.warned',
    agent_id: 'w',
    message: 'the limit of 64 MB is below what its data takes',
  })
  expect(world.journal.at(-1)?.action).toBe('agent.warned')
})
