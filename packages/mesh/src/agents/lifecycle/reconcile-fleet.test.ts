import { afterEach, describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { aWorker, owner, patient, stateOf } from '../../testing/fleet-harness.ts'
import type { FleetHarness } from '../../testing/fleet-harness.ts'

let world: FleetHarness
afterEach(() => world.close())

const doorTokenOf = (start: number) => world.runtime.doorTokens[start] ?? ''

describe('a mesh that starts again', () => {
  test('adopts a sandbox that runs, and its tokens go on', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    const next = world.again()
    expect(await next.lifecycle.reconcile()).toEqual({ adopted: ['w'], removed: [], stopped: [] })
    expect(next.connection.verifyToken(doorTokenOf(0))).toEqual({ agentId: 'w', token: 'door' })
    expect(await (await next.connection.ensureRunning('w', patient)).healthy(patient)).toBe(true)
    expect(world.runtime.started).toHaveLength(1)
  })

  test('adopts one that is slow to answer over its work', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    world.runtime.mute.add('w')
    expect((await world.again().lifecycle.reconcile()).adopted).toEqual(['w'])
  })

  test('notes an agent whose sandbox ended meanwhile, and ends its tokens', async () => {
    heedsLesson(92)
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    await world.fleet.lifecycle.close()
    await world.runtime.kill('w', 137)
    const next = world.again()
    const gone: unknown[] = []
    world.deps.hooks.sandboxGone.subscribe((end) => gone.push(end))
    expect(await next.lifecycle.reconcile()).toEqual({ adopted: [], removed: [], stopped: ['w'] })
    expect(stateOf(next, 'w')).toBe('stopped')
    expect(next.connection.verifyToken(doorTokenOf(0))).toBeNull()
    expect(world.events.at(-1)).toEqual({
      type: 'agent.died',
      agent_id: 'w',
      exit_code: 137,
      out_of_memory: false,
    })
    expect(gone).toEqual([{ agentId: 'w', reason: 'died' }])
  })

  test.each([
    ['an earlier start', { 'flotilla.start': 'start_0' }],
    ['a mesh at another address', { 'flotilla.door': 'other' }],
  ])('takes away a sandbox of %s and keeps its data', async (_name, labels) => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    const spec = world.runtime.started[0]!
    await world.runtime.plant({ ...spec, labels: { ...spec.labels, ...labels } })
    const next = world.again()
    expect(await next.lifecycle.reconcile()).toEqual({ adopted: [], removed: ['w'], stopped: ['w'] })
    expect(world.runtime.removed).toEqual([{ agentId: 'w', data: false }])
    expect(stateOf(next, 'w')).toBe('stopped')
    expect(next.connection.verifyToken(doorTokenOf(0))).toBeNull()
  })

  test('takes away a sandbox that belongs to no agent and keeps its data', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    await world.runtime.plant({ ...world.runtime.started[0]!, agentId: 'stray' })
    expect((await world.again().lifecycle.reconcile()).removed).toEqual(['stray'])
    expect(world.runtime.isRunning('stray')).toBe(false)
    expect(world.runtime.removed).toEqual([{ agentId: 'stray', data: false }])
  })

  test.each([
    ['keeps a half-made start that answers', false, 'running'],
    ['undoes a half-made start that does not answer', true, 'stopped'],
  ])('%s', async (_name, isMute, state) => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    world.database.prepare("UPDATE agents SET state = 'starting'").run()
    if (isMute) world.runtime.mute.add('w')
    const next = world.again()
    await next.lifecycle.reconcile()
    expect(stateOf(next, 'w')).toBe(state)
    expect(world.runtime.isRunning('w')).toBe(!isMute)
    expect(next.connection.verifyToken(doorTokenOf(0)) !== null).toBe(!isMute)
  })

  test.each(['running', 'unhealthy', 'starting'])(
    'adopts one that was %s at its own processor share, or not at all',
    async (was) => {
      world = await aWorker()
      await world.fleet.connection.ensureRunning('w', patient)
      const leave = () => world.database.prepare('UPDATE agents SET state = ?').run(was)
      leave()
      expect((await world.again().lifecycle.reconcile()).adopted).toEqual(['w'])
      expect(world.runtime.held).toEqual(['w', 'w'])
      leave()
      world.runtime.beforeHold = () => Promise.reject(new Error('the engine refused'))
      const next = world.again()
      expect(await next.lifecycle.reconcile()).toEqual({ adopted: [], removed: ['w'], stopped: ['w'] })
      expect([world.runtime.isRunning('w'), stateOf(next, 'w')]).toEqual([false, 'stopped'])
    },
  )

  test('a sandbox that outlived its stop is stopped', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    await world.fleet.lifecycle.stop('w', 'idle')
    await world.runtime.plant(world.runtime.started[0]!)
    await world.again().lifecycle.reconcile()
    expect(world.runtime.isRunning('w')).toBe(false)
  })

  test('the reason of a failure outlives the mesh', async () => {
    world = await aWorker()
    world.runtime.beforeStart = () => Promise.reject(new Error('no image'))
    await world.fleet.connection.ensureRunning('w', patient).catch(() => {})
    const next = world.again()
    await next.lifecycle.reconcile()
    expect(stateOf(next, 'w')).toBe('restarting')
  })

  test('two reconciled agents do not disturb each other', async () => {
    world = await aWorker()
    await world.fleet.admin.create(owner, { id: 'x', role: 'x' })
    await world.fleet.connection.ensureRunning('w', patient)
    await world.fleet.connection.ensureRunning('x', patient)
    await world.runtime.stop('x', { graceMs: 0 })
    expect(await world.again().lifecycle.reconcile()).toEqual({ adopted: ['w'], removed: [], stopped: ['x'] })
  })
})
