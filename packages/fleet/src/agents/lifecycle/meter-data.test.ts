import { afterEach, describe, expect, test } from 'vitest'
import { aWorker, owner, patient, reasonOf, stateOf } from '../../../../testing/src/fleet-harness.ts'
import type { FleetHarness } from '../../../../testing/src/fleet-harness.ts'
import { judgeData } from './judge-data.ts'

let harness: FleetHarness
afterEach(() => harness?.close())

const limitBytes = 100 * 1024 * 1024
const use = (bytes: number, more: { files?: number; complete?: boolean } = {}) => ({
  bytes,
  files: 1,
  complete: true,
  ...more,
})

async function sweepAfter(ms: number): Promise<void> {
  await harness.clock.advance(ms)
  await harness.fleet.lifecycle.sweep()
}

describe('the verdict on the size of an agent’s data', () => {
  test.each([
    ['nothing', use(0), null],
    ['just its limit', use(limitBytes), null],
    ['a byte more', use(limitBytes + 1), '101 MB of 100 MB'],
    ['more than was counted', use(limitBytes * 2, { complete: false }), 'at least 200 MB'],
    ['as many files as it may', use(1, { files: 16_384 }), null],
    ['one file too many', use(1, { files: 16_385 }), '16385 of 16384 files'],
  ])('the verdict on the size of an agent’s data of %s', (_what, found, said) => {
    const verdict = judgeData('w', found, limitBytes)
    if (said === null) expect(verdict).toBeNull()
    else {
      expect(verdict).toContain(said)
      expect(verdict).toMatch(/^data-full: .*data_limit_mb.*flotilla restart w$/)
    }
  })
})

describe('an agent whose data is metered', () => {
  test('an agent whose data is metered runs on within its limit', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    harness.runtime.uses.set('w', use(limitBytes))
    await sweepAfter(60_000)
    expect(stateOf(harness.fleet, 'w')).toBe('running')
    expect(harness.runtime.measured).toEqual([['w']])
  })

  test('an agent whose data is metered is stopped with a reason above its limit, and its run is notified', async () => {
    harness = await aWorker()
    const gone: unknown[] = []
    harness.deps.fleetEvents.sandboxGone.subscribe((end) => gone.push(end))
    await harness.fleet.connection.ensureRunning('w', patient)
    harness.runtime.uses.set('w', use(limitBytes * 3))
    await sweepAfter(60_000)
    expect(stateOf(harness.fleet, 'w')).toBe('restarting')
    expect(harness.runtime.isRunning('w')).toBe(false)
    expect(harness.fleet.connection.verifyToken(harness.runtime.doorTokens[0] ?? '')).toBeNull()
    expect(harness.events.at(-1)).toMatchObject({
      type: 'agent.stopped',
      reason: expect.stringContaining('300 MB of 100 MB') as unknown,
    })
    expect(harness.journal.at(-1)?.action).toBe('agent.data-full')
    expect(gone).toEqual([{ agentId: 'w', reason: 'stopped' }])
  })

  test('an agent whose data is metered is not started until it keeps less, then it is by itself', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    harness.runtime.uses.set('w', use(limitBytes * 3))
    await sweepAfter(60_000)
    await expect(harness.fleet.connection.ensureRunning('w', patient)).rejects.toMatchObject({
      code: 'data-full',
    })
    await expect(harness.fleet.lifecycle.restart(owner, 'w')).rejects.toMatchObject({ code: 'data-full' })
    expect(harness.runtime.started).toHaveLength(1)
    await sweepAfter(60_000)
    expect(stateOf(harness.fleet, 'w')).toBe('restarting')
    harness.runtime.uses.set('w', use(5))
    await sweepAfter(600_000)
    expect(stateOf(harness.fleet, 'w')).toBe('running')
  })

  test('an agent whose data is metered is started again once its limit is raised', async () => {
    let limit = limitBytes
    harness = await aWorker({ dataLimitBytes: () => limit })
    await harness.fleet.connection.ensureRunning('w', patient)
    harness.runtime.uses.set('w', use(limitBytes * 3))
    await sweepAfter(60_000)
    limit = limitBytes * 4
    await harness.fleet.lifecycle.restart(owner, 'w')
    expect(stateOf(harness.fleet, 'w')).toBe('running')
    expect(harness.runtime.started.at(-1)?.dataLimitBytes).toBe(limit)
  })

  test('an agent whose data is metered is counted once a minute at most, and a start that has no reason to wait does not', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    await harness.fleet.lifecycle.restart(owner, 'w')
    expect(harness.runtime.measured).toEqual([])
    for (let sweeps = 0; sweeps < 8; sweeps++) await sweepAfter(15_000)
    expect(harness.runtime.measured).toHaveLength(2)
  })

  test('an agent whose data is metered goes on when counting fails', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    harness.runtime.measureData = () => Promise.reject(new Error('no engine'))
    await sweepAfter(60_000)
    expect(stateOf(harness.fleet, 'w')).toBe('running')
    expect(await reasonOf(harness.fleet.lifecycle.sweep())).toBe('')
  })
})

test('an agent starts with a warning about a limit that could not be applied', async () => {
  harness = await aWorker()
  harness.runtime.warnings = ['the limit of 64 MB is below what its data takes']
  await harness.fleet.connection.ensureRunning('w', patient)
  expect(stateOf(harness.fleet, 'w')).toBe('running')
  expect(harness.events.at(-1)).toEqual({
    type: 'agent.warned',
    agent_id: 'w',
    message: 'the limit of 64 MB is below what its data takes',
  })
  expect(harness.journal.at(-1)?.action).toBe('agent.warned')
})
