import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { startIdLabel } from './agent-sandbox.ts'
import { aWorker, owner, patient, stateOf } from '../../testing/fleet-harness.ts'
import type { FleetHarness } from '../../testing/fleet-harness.ts'
import type { SandboxSpec } from '../../sandbox/sandbox-spec.ts'

let world: FleetHarness
afterEach(() => world.close())

const doorTokenOf = (start: number) => world.runtime.doorTokens[start] ?? ''
const settle = async () => {
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve))
}

async function sweepAfter(ms: number): Promise<void> {
  await world.clock.advance(ms)
  await world.fleet.lifecycle.sweep()
}

/** The agent hangs until it is ended and well again; the seconds that it rested in between. */
async function hang(): Promise<number> {
  world.runtime.mute.add('w')
  while (['running', 'unhealthy'].includes(stateOf(world.fleet, 'w'))) await sweepAfter(30_000)
  world.runtime.mute.clear()
  let pauseSeconds = 0
  for (; stateOf(world.fleet, 'w') === 'restarting'; pauseSeconds += 30) await sweepAfter(30_000)
  return pauseSeconds
}

/** What a start told the agent, without what is new with each. */
async function toldAtStart(start: number) {
  const spec = world.runtime.started[start]!
  const { [startIdLabel]: startId, ...labels } = spec.labels
  const told = JSON.stringify({ ...spec, labels }).replaceAll(spec.environment['OPENAI_API_KEY']!, 'token')
  const brief = await readFile(join(spec.briefingDirectory, 'SYSTEM.md'), 'utf8')
  return { startId, brief, spec: JSON.parse(told) as SandboxSpec }
}

describe('a sandbox that ends by itself', () => {
  test('is announced once, its tokens end, and who listens hears it', async () => {
    world = await aWorker()
    const gone: unknown[] = []
    world.deps.hooks.sandboxGone.subscribe((end) => gone.push(end))
    await world.fleet.connection.ensureRunning('w', patient)
    await world.runtime.kill('w', 137)
    await settle()
    expect(world.events.at(-1)).toEqual({
      type: 'agent.died',
      agent_id: 'w',
      exit_code: 137,
      out_of_memory: false,
    })
    expect(gone).toEqual([{ agentId: 'w', reason: 'died' }])
    expect(stateOf(world.fleet, 'w')).toBe('restarting')
    expect(world.fleet.connection.verifyToken(doorTokenOf(0))).toBeNull()
    expect(await world.fleet.connection.connectIfRunning('w')).toBeNull()
  })

  test('is started again by whoever needs it', async () => {
    heedsLesson(92)
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    await world.runtime.kill('w', 1)
    await settle()
    await world.fleet.connection.ensureRunning('w', patient)
    expect(world.runtime.started).toHaveLength(2)
  })

  test('comes back with all that it was told before, and only its tokens are new', async () => {
    heedsLesson(96)
    world = await aWorker()
    await world.fleet.lifecycle.ensureOperator()
    world.grants.set('operator', { can_edit_agent_config: true })
    world.fleet.admin.change('operator', { model: 'scripted/of-its-own', role: 'speaks for all' })
    await world.fleet.connection.ensureRunning('operator', patient)
    const first = await toldAtStart(0)
    await world.runtime.kill('operator', 137)
    await settle()
    await world.fleet.connection.ensureRunning('operator', patient)
    const second = await toldAtStart(1)
    expect(second).toEqual({ ...first, startId: second.startId })
    expect(second.spec.environment).toMatchObject({
      FLOTILLA_MODEL: 'scripted/of-its-own',
      FLOTILLA_AGENT_ROLE: 'speaks for all',
    })
    expect(second.brief).toContain('`edit_agent`')
    expect([second.startId, doorTokenOf(1)]).not.toEqual([first.startId, doorTokenOf(0)])
  })

  test('an end of an earlier sandbox, told late, harms nothing', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    await world.fleet.lifecycle.restart(owner, 'w')
    world.runtime.tellEnd('w', 1)
    await settle()
    expect(stateOf(world.fleet, 'w')).toBe('running')
    expect(world.fleet.connection.verifyToken(doorTokenOf(1))).not.toBeNull()
    expect(world.events.map((event) => event.type)).not.toContain('agent.died')
  })

  test('is told although another sandbox runs in its place, since its tokens must not outlive it', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    const [spec] = world.runtime.started
    // As a backup that was put back on the engine would leave it there.
    await world.runtime.plant({ ...spec!, labels: { ...spec!.labels, [startIdLabel]: 'start_of_another' } })
    world.runtime.tellEnd('w', 137)
    await settle()
    expect(world.events.at(-1)).toMatchObject({ type: 'agent.died', agent_id: 'w', exit_code: 137 })
    expect(stateOf(world.fleet, 'w')).toBe('restarting')
    expect(world.fleet.connection.verifyToken(doorTokenOf(0))).toBeNull()
    expect(await world.fleet.connection.connectIfRunning('w')).toBeNull()
  })

  test('a listener that throws keeps no other from hearing', async () => {
    world = await aWorker()
    let heard = 0
    world.deps.hooks.sandboxGone.subscribe(() => {
      throw new Error('defect')
    })
    world.deps.hooks.sandboxGone.subscribe(() => heard++)
    await world.fleet.connection.ensureRunning('w', patient)
    await world.fleet.lifecycle.stop('w', 'idle')
    expect(heard).toBe(1)
  })
})

describe('an agent that hangs', () => {
  test('is ended at the third miss, and not before', async () => {
    world = await aWorker()
    const gone: unknown[] = []
    world.deps.hooks.sandboxGone.subscribe((end) => gone.push(end))
    await world.fleet.connection.ensureRunning('w', patient)
    world.runtime.mute.add('w')
    await sweepAfter(30_000)
    await sweepAfter(30_000)
    expect(stateOf(world.fleet, 'w')).toBe('unhealthy')
    await sweepAfter(30_000)
    expect(stateOf(world.fleet, 'w')).toBe('restarting')
    expect(world.runtime.isRunning('w')).toBe(false)
    expect(world.fleet.connection.verifyToken(doorTokenOf(0))).toBeNull()
    expect(gone).toEqual([{ agentId: 'w', reason: 'died' }])
  })

  test('an answer in between starts the count anew', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    for (const isMute of [true, true, false, true, true]) {
      if (isMute) world.runtime.mute.add('w')
      else world.runtime.mute.clear()
      await sweepAfter(30_000)
    }
    expect(stateOf(world.fleet, 'w')).toBe('unhealthy')
    expect(world.runtime.started).toHaveLength(1)
    world.runtime.mute.clear()
    await sweepAfter(30_000)
    expect(stateOf(world.fleet, 'w')).toBe('running')
  })

  test('is started again when its pause is over, and well is well', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    world.runtime.mute.add('w')
    for (let miss = 0; miss < 3; miss++) await sweepAfter(30_000)
    world.runtime.mute.clear()
    await sweepAfter(29_000)
    expect(stateOf(world.fleet, 'w')).toBe('restarting')
    await sweepAfter(1000)
    expect(stateOf(world.fleet, 'w')).toBe('running')
    expect(world.runtime.started).toHaveLength(2)
  })

  test('is started again three times with growing pauses, and then tried three times an hour', async () => {
    world = await aWorker()
    const attempts: number[] = []
    const start = world.clock.now()
    world.runtime.beforeStart = async () => {
      attempts.push(Math.round((world.clock.now() - start) / 1000))
      throw new Error('broken')
    }
    await world.fleet.connection.ensureRunning('w', patient).catch(() => {})
    for (let sweeps = 0; sweeps < 300; sweeps++) await sweepAfter(30_000)
    // The first is the caller's own; then pauses of 30, 60 and 120 s, and 20 minutes between trials in quarantine.
    expect(attempts).toEqual([0, 30, 90, 210, 1410, 2610, 3810, 5010, 6210, 7410, 8610])
  })

  test('has its whole budget of restarts again once it was well for ten minutes', async () => {
    heedsLesson(91)
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    expect([await hang(), await hang(), await hang()]).toEqual([30, 60, 120])
    for (let sweeps = 0; sweeps < 21; sweeps++) await sweepAfter(30_000)
    expect(await hang()).toBe(30)
  })

  test('keeps its restarts through eight minutes of good answers, or what hangs again and again is never let rest', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    expect(await hang()).toBe(30)
    // Eight minutes of good answers, and then it hangs.
    for (let sweeps = 0; sweeps < 16; sweeps++) await sweepAfter(30_000)
    expect(await hang()).toBe(60)
    for (let sweeps = 0; sweeps < 16; sweeps++) await sweepAfter(30_000)
    expect(await hang()).toBe(120)
  })

  test('stays down while a wall does not hold', async () => {
    let hold = true
    world = await aWorker({ isolation: { hold: () => hold } })
    world.runtime.beforeStart = () => Promise.reject(new Error('broken'))
    await world.fleet.connection.ensureRunning('w', patient).catch(() => {})
    hold = false
    await sweepAfter(600_000)
    expect(world.runtime.started).toHaveLength(1)
    hold = true
    await sweepAfter(1000)
    expect(world.runtime.started).toHaveLength(2)
  })

  test('sweeps come every 30 s until they are called off', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    world.runtime.mute.add('w')
    const stop = new AbortController()
    const running = world.fleet.lifecycle.run(stop.signal)
    const atRest = world.clock.sleepers()
    const states: string[] = []
    for (let sweeps = 0; sweeps < 3; sweeps++) {
      await world.clock.advance(30_000)
      // The questions really go over loopback; who asked them sleeps again once they are answered.
      await expect.poll(() => world.clock.sleepers()).toBe(atRest)
      states.push(stateOf(world.fleet, 'w'))
    }
    expect(states).toEqual(['unhealthy', 'unhealthy', 'restarting'])
    stop.abort()
    await running
  })
})
