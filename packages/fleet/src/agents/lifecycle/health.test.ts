import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { IsolationRung } from '@flotilla/protocol/isolation'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { startIdLabel } from './agent-sandbox.ts'
import { aWorker, owner, patient, stateOf } from '../../../../testing/src/fleet-harness.ts'
import type { FleetHarness } from '../../../../testing/src/fleet-harness.ts'
import type { SandboxSpec } from '../../sandbox/sandbox-spec.ts'

let harness: FleetHarness
afterEach(() => harness.close())

const doorTokenOf = (start: number) => harness.runtime.doorTokens[start] ?? ''
const settle = async () => {
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve))
}

async function sweepAfter(ms: number): Promise<void> {
  await harness.clock.advance(ms)
  await harness.fleet.lifecycle.sweep()
}

/** Makes the agent hang until it was ended and runs again; returns the seconds of the pause before the restart. */
async function hang(): Promise<number> {
  harness.runtime.mute.add('w')
  while (['running', 'unhealthy'].includes(stateOf(harness.fleet, 'w'))) await sweepAfter(30_000)
  harness.runtime.mute.clear()
  let pauseSeconds = 0
  for (; stateOf(harness.fleet, 'w') === 'restarting'; pauseSeconds += 30) await sweepAfter(30_000)
  return pauseSeconds
}

/** The environment of a start, without the values that differ at each start. */
async function toldAtStart(start: number) {
  const spec = harness.runtime.started[start]!
  const { [startIdLabel]: startId, ...labels } = spec.labels
  const told = JSON.stringify({ ...spec, labels }).replaceAll(spec.environment['OPENAI_API_KEY']!, 'token')
  const brief = await readFile(join(spec.briefingDirectory, 'SYSTEM.md'), 'utf8')
  return { startId, brief, spec: JSON.parse(told) as SandboxSpec }
}

describe('a sandbox that ends by itself', () => {
  test('a sandbox that ends by itself is announced once, ends its tokens and calls the listeners', async () => {
    harness = await aWorker()
    const gone: unknown[] = []
    harness.deps.fleetEvents.sandboxGone.subscribe((end) => gone.push(end))
    await harness.fleet.connection.ensureRunning('w', patient)
    await harness.runtime.kill('w', 137)
    await settle()
    expect(harness.events.at(-1)).toEqual({
      type: 'agent.died',
      agent_id: 'w',
      exit_code: 137,
      out_of_memory: false,
    })
    expect(gone).toEqual([{ agentId: 'w', reason: 'died' }])
    expect(stateOf(harness.fleet, 'w')).toBe('restarting')
    expect(harness.fleet.connection.verifyToken(doorTokenOf(0))).toBeNull()
    expect(await harness.fleet.connection.connectIfRunning('w')).toBeNull()
  })

  test('a sandbox that ends by itself is restarted by the next caller that needs it', async () => {
    heedsLesson(92)
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    await harness.runtime.kill('w', 1)
    await settle()
    await harness.fleet.connection.ensureRunning('w', patient)
    expect(harness.runtime.started).toHaveLength(2)
  })

  test('a sandbox that ends by itself restarts with the same environment and new tokens', async () => {
    heedsLesson(96)
    harness = await aWorker()
    await harness.fleet.lifecycle.ensureOperator()
    harness.grants.set('operator', { can_edit_agent_config: true })
    harness.fleet.admin.change('operator', { model: 'scripted/of-its-own', role: 'speaks for all' })
    await harness.fleet.connection.ensureRunning('operator', patient)
    const first = await toldAtStart(0)
    await harness.runtime.kill('operator', 137)
    await settle()
    await harness.fleet.connection.ensureRunning('operator', patient)
    const second = await toldAtStart(1)
    expect(second).toEqual({ ...first, startId: second.startId })
    expect(second.spec.environment).toMatchObject({
      FLOTILLA_MODEL: 'scripted/of-its-own',
      FLOTILLA_AGENT_ROLE: 'speaks for all',
    })
    expect(second.brief).toContain('Looking after the fleet')
    expect([second.startId, doorTokenOf(1)]).not.toEqual([first.startId, doorTokenOf(0)])
  })

  test('a late end event of an earlier sandbox has no effect', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    await harness.fleet.lifecycle.restart(owner, 'w')
    harness.runtime.reportEnd('w', 1)
    await settle()
    expect(stateOf(harness.fleet, 'w')).toBe('running')
    expect(harness.fleet.connection.verifyToken(doorTokenOf(1))).not.toBeNull()
    expect(harness.events.map((event) => event.type)).not.toContain('agent.died')
  })

  test('a sandbox that ends by itself is reported even if another sandbox replaced it, because its tokens must end', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    const [spec] = harness.runtime.started
    // A restored backup of the engine could leave such a sandbox.
    await harness.runtime.plant({ ...spec!, labels: { ...spec!.labels, [startIdLabel]: 'start_of_another' } })
    harness.runtime.reportEnd('w', 137)
    await settle()
    expect(harness.events.at(-1)).toMatchObject({ type: 'agent.died', agent_id: 'w', exit_code: 137 })
    expect(stateOf(harness.fleet, 'w')).toBe('restarting')
    expect(harness.fleet.connection.verifyToken(doorTokenOf(0))).toBeNull()
    expect(await harness.fleet.connection.connectIfRunning('w')).toBeNull()
  })

  test('a listener that throws does not block the others', async () => {
    harness = await aWorker()
    let heard = 0
    harness.deps.fleetEvents.sandboxGone.subscribe(() => {
      throw new Error('defect')
    })
    harness.deps.fleetEvents.sandboxGone.subscribe(() => heard++)
    await harness.fleet.connection.ensureRunning('w', patient)
    await harness.fleet.lifecycle.stop('w', 'idle')
    expect(heard).toBe(1)
  })
})

describe('an agent that hangs', () => {
  test('an agent that hangs is ended at the third miss, and not before', async () => {
    harness = await aWorker()
    const gone: unknown[] = []
    harness.deps.fleetEvents.sandboxGone.subscribe((end) => gone.push(end))
    await harness.fleet.connection.ensureRunning('w', patient)
    harness.runtime.mute.add('w')
    await sweepAfter(30_000)
    await sweepAfter(30_000)
    expect(stateOf(harness.fleet, 'w')).toBe('unhealthy')
    await sweepAfter(30_000)
    expect(stateOf(harness.fleet, 'w')).toBe('restarting')
    expect(harness.runtime.isRunning('w')).toBe(false)
    expect(harness.fleet.connection.verifyToken(doorTokenOf(0))).toBeNull()
    expect(gone).toEqual([{ agentId: 'w', reason: 'died' }])
  })

  test.each<[IsolationRung, number]>([
    ['container', 5000],
    ['gvisor', 5000],
    ['microvm', 25_000],
  ])(
    'the time of an agent to answer depends on its isolation level: in %s %i ms',
    async (wanted, withinMs) => {
      harness = await aWorker()
      Object.assign(harness.deps.placing, { wishOf: () => ({ wanted, floor: wanted }) })
      await harness.fleet.connection.ensureRunning('w', patient)
      const bounds = vi.spyOn(AbortSignal, 'timeout')
      try {
        await sweepAfter(30_000)
        expect(bounds.mock.calls[0]).toEqual([withinMs])
      } finally {
        bounds.mockRestore()
      }
    },
  )

  test('an answer in between resets the count', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    for (const isMute of [true, true, false, true, true]) {
      if (isMute) harness.runtime.mute.add('w')
      else harness.runtime.mute.clear()
      await sweepAfter(30_000)
    }
    expect(stateOf(harness.fleet, 'w')).toBe('unhealthy')
    expect(harness.runtime.started).toHaveLength(1)
    harness.runtime.mute.clear()
    await sweepAfter(30_000)
    expect(stateOf(harness.fleet, 'w')).toBe('running')
  })

  test('an agent that hangs is started again when its pause is over, and well is well', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    harness.runtime.mute.add('w')
    for (let miss = 0; miss < 3; miss++) await sweepAfter(30_000)
    harness.runtime.mute.clear()
    await sweepAfter(29_000)
    expect(stateOf(harness.fleet, 'w')).toBe('restarting')
    await sweepAfter(1000)
    expect(stateOf(harness.fleet, 'w')).toBe('running')
    expect(harness.runtime.started).toHaveLength(2)
  })

  test('an agent that hangs is started again three times with growing pauses, and then tried three times an hour', async () => {
    harness = await aWorker()
    const attempts: number[] = []
    const start = harness.clock.now()
    harness.runtime.beforeStart = async () => {
      attempts.push(Math.round((harness.clock.now() - start) / 1000))
      throw new Error('broken')
    }
    await harness.fleet.connection.ensureRunning('w', patient).catch(() => {})
    for (let sweeps = 0; sweeps < 300; sweeps++) await sweepAfter(30_000)
    // The first attempt is the caller's; then follow pauses of 30, 60 and 120 s, and of 20 minutes in quarantine.
    expect(attempts).toEqual([0, 30, 90, 210, 1410, 2610, 3810, 5010, 6210, 7410, 8610])
  })

  test('an agent that hangs has its whole budget of restarts again once it was well for ten minutes', async () => {
    heedsLesson(91)
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    expect([await hang(), await hang(), await hang()]).toEqual([30, 60, 120])
    for (let sweeps = 0; sweeps < 21; sweeps++) await sweepAfter(30_000)
    expect(await hang()).toBe(30)
  })

  test('an agent that hangs keeps its restarts through eight minutes of good answers, or what hangs again and again is never let rest', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    expect(await hang()).toBe(30)
    // It answers for eight minutes, and then hangs.
    for (let sweeps = 0; sweeps < 16; sweeps++) await sweepAfter(30_000)
    expect(await hang()).toBe(60)
    for (let sweeps = 0; sweeps < 16; sweeps++) await sweepAfter(30_000)
    expect(await hang()).toBe(120)
  })

  test('an agent that hangs stays down while a wall does not hold', async () => {
    let hold = true
    harness = await aWorker({ isolation: { hold: () => hold } })
    harness.runtime.beforeStart = () => Promise.reject(new Error('broken'))
    await harness.fleet.connection.ensureRunning('w', patient).catch(() => {})
    hold = false
    await sweepAfter(600_000)
    expect(harness.runtime.started).toHaveLength(1)
    hold = true
    await sweepAfter(1000)
    expect(harness.runtime.started).toHaveLength(2)
  })

  test('health sweeps come every 30 s until they are aborted', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    harness.runtime.mute.add('w')
    const stop = new AbortController()
    const running = harness.fleet.lifecycle.run(stop.signal)
    const atRest = harness.clock.sleepers()
    const states: string[] = []
    for (let sweeps = 0; sweeps < 3; sweeps++) {
      await harness.clock.advance(30_000)
      // The health checks really use the network; the sweep sleeps again once they are answered.
      await expect.poll(() => harness.clock.sleepers()).toBe(atRest)
      states.push(stateOf(harness.fleet, 'w'))
    }
    expect(states).toEqual(['unhealthy', 'unhealthy', 'restarting'])
    stop.abort()
    await running
  })
})
