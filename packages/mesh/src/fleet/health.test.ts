import { afterEach, describe, expect, test } from 'vitest'
import { startIdLabel } from './agent-sandbox.ts'
import { aWorker, owner, patient, stateOf } from './fleet-world.ts'
import type { FleetWorld } from './fleet-world.ts'

let world: FleetWorld
afterEach(() => world.close())

const doorTokenOf = (start: number) => world.runtime.doorTokens[start] ?? ''
/** Real time for questions that really go over loopback. */
const wait = () => new Promise((resolve) => setTimeout(resolve, 60))
const settle = async () => {
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve))
}

async function sweepAfter(ms: number): Promise<void> {
  await world.clock.advance(ms)
  await world.fleet.sweep()
}

describe('a sandbox that ends by itself', () => {
  test('is announced once, its tokens end, and who listens hears it', async () => {
    world = await aWorker()
    const gone: unknown[] = []
    world.fleet.onSandboxGone((end) => gone.push(end))
    await world.fleet.ensureRunning('w', patient)
    await world.runtime.kill('w', 137)
    await settle()
    expect(world.events.at(-1)).toEqual({
      type: 'agent.died',
      agent_id: 'w',
      exit_code: 137,
      out_of_memory: false,
    })
    expect(gone).toEqual([{ agentId: 'w', reason: 'died' }])
    expect(stateOf(world.fleet, 'w')).toBe('stopped')
    expect(world.fleet.verifyToken(doorTokenOf(0))).toBeNull()
    expect(await world.fleet.connectIfRunning('w')).toBeNull()
  })

  test('is started again by whoever needs it', async () => {
    world = await aWorker()
    await world.fleet.ensureRunning('w', patient)
    await world.runtime.kill('w', 1)
    await settle()
    await world.fleet.ensureRunning('w', patient)
    expect(world.runtime.started).toHaveLength(2)
  })

  test('an end of an earlier sandbox, told late, harms nothing', async () => {
    world = await aWorker()
    await world.fleet.ensureRunning('w', patient)
    await world.fleet.restart(owner, 'w')
    world.runtime.tellEnd('w', 1)
    await settle()
    expect(stateOf(world.fleet, 'w')).toBe('ready')
    expect(world.fleet.verifyToken(doorTokenOf(1))).not.toBeNull()
    expect(world.events.map((event) => event.type)).not.toContain('agent.died')
  })

  test('is told although another sandbox runs in its place, since its tokens must not outlive it', async () => {
    world = await aWorker()
    await world.fleet.ensureRunning('w', patient)
    const [spec] = world.runtime.started
    // As a backup that was put back on the engine would leave it there.
    await world.runtime.plant({ ...spec!, labels: { ...spec!.labels, [startIdLabel]: 'start_of_another' } })
    world.runtime.tellEnd('w', 137)
    await settle()
    expect(world.events.at(-1)).toMatchObject({ type: 'agent.died', agent_id: 'w', exit_code: 137 })
    expect(stateOf(world.fleet, 'w')).toBe('stopped')
    expect(world.fleet.verifyToken(doorTokenOf(0))).toBeNull()
    expect(await world.fleet.connectIfRunning('w')).toBeNull()
  })

  test('a listener that throws keeps no other from hearing', async () => {
    world = await aWorker()
    let heard = 0
    world.fleet.onSandboxGone(() => {
      throw new Error('defect')
    })
    world.fleet.onSandboxGone(() => heard++)
    await world.fleet.ensureRunning('w', patient)
    await world.fleet.stop('w', 'idle')
    expect(heard).toBe(1)
  })
})

describe('an agent that hangs', () => {
  test('is ended at the third miss, and not before', async () => {
    world = await aWorker()
    const gone: unknown[] = []
    world.fleet.onSandboxGone((end) => gone.push(end))
    await world.fleet.ensureRunning('w', patient)
    world.runtime.mute.add('w')
    await sweepAfter(30_000)
    await sweepAfter(30_000)
    expect(stateOf(world.fleet, 'w')).toBe('ready')
    await sweepAfter(30_000)
    expect(stateOf(world.fleet, 'w')).toBe('failed')
    expect(world.runtime.isRunning('w')).toBe(false)
    expect(world.fleet.verifyToken(doorTokenOf(0))).toBeNull()
    expect(gone).toEqual([{ agentId: 'w', reason: 'died' }])
  })

  test('an answer in between starts the count anew', async () => {
    world = await aWorker()
    await world.fleet.ensureRunning('w', patient)
    for (const isMute of [true, true, false, true, true]) {
      if (isMute) world.runtime.mute.add('w')
      else world.runtime.mute.clear()
      await sweepAfter(30_000)
    }
    expect(stateOf(world.fleet, 'w')).toBe('ready')
  })

  test('is started again when its pause is over, and well is well', async () => {
    world = await aWorker()
    await world.fleet.ensureRunning('w', patient)
    world.runtime.mute.add('w')
    for (let miss = 0; miss < 3; miss++) await sweepAfter(30_000)
    world.runtime.mute.clear()
    await sweepAfter(29_000)
    expect(stateOf(world.fleet, 'w')).toBe('failed')
    await sweepAfter(1000)
    expect(stateOf(world.fleet, 'w')).toBe('ready')
    expect(world.runtime.started).toHaveLength(2)
  })

  test('is tried three times an hour with growing pauses, hour after hour', async () => {
    world = await aWorker()
    const attempts: number[] = []
    const start = world.clock.now()
    world.runtime.beforeStart = async () => {
      attempts.push(Math.round((world.clock.now() - start) / 1000))
      throw new Error('broken')
    }
    await world.fleet.ensureRunning('w', patient).catch(() => {})
    for (let sweeps = 0; sweeps < 300; sweeps++) await sweepAfter(30_000)
    // The first is the caller's own; then pauses of 30, 60, 120 s, an hour since the third last, 480, 600 s.
    expect(attempts).toEqual([0, 30, 90, 210, 3630, 4110, 4710, 7230, 7830, 8430])
  })

  test('has its whole budget of restarts again once it was well for ten minutes', async () => {
    world = await aWorker()
    await world.fleet.ensureRunning('w', patient)
    const hang = async () => {
      world.runtime.mute.add('w')
      while (stateOf(world.fleet, 'w') === 'ready') await sweepAfter(30_000)
      world.runtime.mute.clear()
      let pause = 0
      while (stateOf(world.fleet, 'w') === 'failed') {
        await sweepAfter(30_000)
        pause += 30
      }
      return pause
    }
    expect([await hang(), await hang(), await hang()]).toEqual([30, 60, 120])
    for (let sweeps = 0; sweeps < 21; sweeps++) await sweepAfter(30_000)
    expect(await hang()).toBe(30)
  })

  test('keeps its restarts through eight minutes of good answers, or what hangs again and again is never let rest', async () => {
    world = await aWorker()
    await world.fleet.ensureRunning('w', patient)
    const hang = async () => {
      world.runtime.mute.add('w')
      while (stateOf(world.fleet, 'w') === 'ready') await sweepAfter(30_000)
      world.runtime.mute.clear()
      let pause = 0
      for (; stateOf(world.fleet, 'w') === 'failed'; pause += 30) await sweepAfter(30_000)
      return pause
    }
    expect(await hang()).toBe(30)
    // Eight minutes of good answers, and then it hangs.
    for (let sweeps = 0; sweeps < 16; sweeps++) await sweepAfter(30_000)
    expect(await hang()).toBe(60)
    for (let sweeps = 0; sweeps < 16; sweeps++) await sweepAfter(30_000)
    expect(await hang()).toBe(120)
  })

  test('stays down while a wall does not hold', async () => {
    let hold = true
    world = await aWorker({ walls: { hold: () => hold } })
    world.runtime.beforeStart = () => Promise.reject(new Error('broken'))
    await world.fleet.ensureRunning('w', patient).catch(() => {})
    hold = false
    await sweepAfter(600_000)
    expect(world.runtime.started).toHaveLength(1)
    hold = true
    await sweepAfter(1000)
    expect(world.runtime.started).toHaveLength(2)
  })

  test('sweeps come every 30 s until they are called off', async () => {
    world = await aWorker()
    await world.fleet.ensureRunning('w', patient)
    world.runtime.mute.add('w')
    const stop = new AbortController()
    const running = world.fleet.run(stop.signal)
    for (let sweeps = 0; sweeps < 2; sweeps++) {
      await world.clock.advance(30_000)
      await wait()
    }
    expect(stateOf(world.fleet, 'w')).toBe('ready')
    await world.clock.advance(30_000)
    await wait()
    expect(stateOf(world.fleet, 'w')).toBe('failed')
    stop.abort()
    await running
  })
})
