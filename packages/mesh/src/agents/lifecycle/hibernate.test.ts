import { afterEach, describe, expect, test } from 'vitest'
import { aWorker, owner, patient, stateOf } from '../../testing/fleet-harness.ts'
import type { FleetHarness } from '../../testing/fleet-harness.ts'

let world: FleetHarness
afterEach(() => world.close())

const minuteMs = 60_000
const idleAfterAnHour = {
  hibernateAfterMs: (agentId: string) => (agentId === 'awake' ? null : 60 * minuteMs),
}

async function sweepAfter(ms: number): Promise<void> {
  await world.clock.advance(ms)
  await world.fleet.lifecycle.sweep()
}

describe('an idle agent', () => {
  test('sleeps after the time that its settings say, not before, and the next work wakes it', async () => {
    world = await aWorker(idleAfterAnHour)
    const gone: unknown[] = []
    world.deps.hooks.sandboxGone.subscribe((end) => gone.push(end))
    await world.fleet.connection.ensureRunning('w', patient)
    await sweepAfter(59 * minuteMs)
    expect(stateOf(world.fleet, 'w')).toBe('running')
    await sweepAfter(minuteMs)
    expect(stateOf(world.fleet, 'w')).toBe('hibernated')
    expect(world.runtime.isRunning('w')).toBe(false)
    expect(world.fleet.connection.verifyToken(world.runtime.doorTokens[0] ?? '')).toBeNull()
    expect(gone).toEqual([{ agentId: 'w', reason: 'stopped' }])
    await sweepAfter(600 * minuteMs)
    expect(stateOf(world.fleet, 'w')).toBe('hibernated')
    await world.fleet.connection.ensureRunning('w', patient)
    expect(stateOf(world.fleet, 'w')).toBe('running')
    expect(world.moves).toEqual(
      ['starting', 'running', 'stopping', 'hibernated', 'starting', 'running'].map((to) => `w ${to}`),
    )
  })

  test('stays awake where its own setting says so, and the operator always does', async () => {
    world = await aWorker(idleAfterAnHour)
    await world.fleet.admin.create(owner, { id: 'awake', role: 'r' })
    await world.fleet.lifecycle.ensureOperator()
    for (const id of ['w', 'awake', 'operator']) await world.fleet.connection.ensureRunning(id, patient)
    await sweepAfter(600 * minuteMs)
    const states = ['w', 'awake', 'operator'].map((id) => stateOf(world.fleet, id))
    expect(states).toEqual(['hibernated', 'running', 'running'])
    await expect(world.fleet.lifecycle.hibernate(owner, 'operator')).rejects.toMatchObject({
      code: 'reserved-agent-id',
    })
  })

  test.each(['somebody reached it', 'a run of it ended'])(
    'has its whole time again since %s',
    async (what) => {
      world = await aWorker(idleAfterAnHour)
      await world.fleet.connection.ensureRunning('w', patient)
      await world.clock.advance(50 * minuteMs)
      if (what === 'somebody reached it') await world.fleet.connection.reach('w', patient)
      else {
        const origin = { kind: 'system', channel: 'mesh' } as const
        const run = { id: 'run_1', kind: 'chat', state: 'failed', outcome: null } as const
        world.deps.hooks.runSettled.tell({ ...run, origin, agentId: 'w' })
      }
      await sweepAfter(59 * minuteMs)
      expect(stateOf(world.fleet, 'w')).toBe('running')
      await sweepAfter(minuteMs)
      expect(stateOf(world.fleet, 'w')).toBe('hibernated')
    },
  )

  test('is not idle while it has work, and is not put to sleep by anybody then', async () => {
    world = await aWorker(idleAfterAnHour)
    let work = ['it has work']
    world.deps.hooks.reasonsToStayAwake.subscribe(() => work)
    await world.fleet.connection.ensureRunning('w', patient)
    await sweepAfter(600 * minuteMs)
    expect(stateOf(world.fleet, 'w')).toBe('running')
    await expect(world.fleet.lifecycle.hibernate(owner, 'w')).rejects.toMatchObject({ code: 'conflict' })
    work = []
    await world.fleet.lifecycle.hibernate(owner, 'w')
    await world.fleet.lifecycle.hibernate(owner, 'w')
    expect(stateOf(world.fleet, 'w')).toBe('hibernated')
  })

  test('whoever reaches for it while it falls asleep waits and gets it awake', async () => {
    world = await aWorker(idleAfterAnHour)
    await world.fleet.connection.ensureRunning('w', patient)
    const [, connection] = await Promise.all([
      world.fleet.lifecycle.hibernate(owner, 'w'),
      world.fleet.connection.ensureRunning('w', patient),
    ])
    expect(connection.agentId).toBe('w')
    expect(await world.fleet.connection.connectIfRunning('w').then((line) => line?.healthy(patient))).toBe(
      stateOf(world.fleet, 'w') === 'running' ? true : undefined,
    )
  })

  test('agents put nobody to sleep who may not manage the fleet', async () => {
    world = await aWorker(idleAfterAnHour)
    const agent = { kind: 'agent', agentId: 'x', token: 'door', run: null } as const
    await expect(world.fleet.lifecycle.hibernate(agent, 'w')).rejects.toMatchObject({ code: 'denied' })
  })
})
