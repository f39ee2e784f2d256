import { afterEach, describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { aWorker, owner, patient, stateOf } from '../../../../testing/src/fleet-harness.ts'
import type { FleetHarness } from '../../../../testing/src/fleet-harness.ts'

let harness: FleetHarness
afterEach(() => harness.close())

const doorTokenOf = (start: number) => harness.runtime.doorTokens[start] ?? ''

describe('a mesh that starts again', () => {
  test('a mesh that starts again adopts a sandbox that runs, and its tokens go on', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    const next = harness.again()
    expect(await next.lifecycle.reconcile()).toEqual({ adopted: ['w'], removed: [], stopped: [] })
    expect(next.connection.verifyToken(doorTokenOf(0))).toEqual({ agentId: 'w', token: 'door' })
    expect(await (await next.connection.ensureRunning('w', patient)).healthy(patient)).toBe(true)
    expect(harness.runtime.started).toHaveLength(1)
  })

  test('a mesh that starts again adopts one that is slow to answer over its work', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    harness.runtime.mute.add('w')
    expect((await harness.again().lifecycle.reconcile()).adopted).toEqual(['w'])
  })

  test('a mesh that starts again records an agent whose sandbox ended meanwhile, and revokes its tokens', async () => {
    heedsLesson(92)
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    await harness.fleet.lifecycle.close()
    await harness.runtime.kill('w', 137)
    const next = harness.again()
    const gone: unknown[] = []
    harness.deps.fleetEvents.sandboxGone.subscribe((end) => gone.push(end))
    expect(await next.lifecycle.reconcile()).toEqual({ adopted: [], removed: [], stopped: ['w'] })
    expect(stateOf(next, 'w')).toBe('stopped')
    expect(next.connection.verifyToken(doorTokenOf(0))).toBeNull()
    expect(harness.events.at(-1)).toEqual({
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
  ])('a mesh that starts again takes away a sandbox of %s and keeps its data', async (_name, labels) => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    const spec = harness.runtime.started[0]!
    await harness.runtime.plant({ ...spec, labels: { ...spec.labels, ...labels } })
    const next = harness.again()
    expect(await next.lifecycle.reconcile()).toEqual({ adopted: [], removed: ['w'], stopped: ['w'] })
    expect(harness.runtime.removed).toEqual([{ agentId: 'w', data: false }])
    expect(stateOf(next, 'w')).toBe('stopped')
    expect(next.connection.verifyToken(doorTokenOf(0))).toBeNull()
  })

  test('a mesh that starts again takes away a sandbox that belongs to no agent and keeps its data', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    await harness.runtime.plant({ ...harness.runtime.started[0]!, agentId: 'stray' })
    expect((await harness.again().lifecycle.reconcile()).removed).toEqual(['stray'])
    expect(harness.runtime.isRunning('stray')).toBe(false)
    expect(harness.runtime.removed).toEqual([{ agentId: 'stray', data: false }])
  })

  test.each([
    ['keeps a half-made start that answers', false, 'running'],
    ['undoes a half-made start that does not answer', true, 'stopped'],
  ])('%s', async (_name, isMute, state) => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    harness.database.prepare("UPDATE agents SET state = 'starting'").run()
    if (isMute) harness.runtime.mute.add('w')
    const next = harness.again()
    await next.lifecycle.reconcile()
    expect(stateOf(next, 'w')).toBe(state)
    expect(harness.runtime.isRunning('w')).toBe(!isMute)
    expect(next.connection.verifyToken(doorTokenOf(0)) !== null).toBe(!isMute)
  })

  test.each(['running', 'unhealthy', 'starting'])(
    'a mesh that starts again adopts one that was %s at its own processor share, or not at all',
    async (was) => {
      harness = await aWorker()
      await harness.fleet.connection.ensureRunning('w', patient)
      const leave = () => harness.database.prepare('UPDATE agents SET state = ?').run(was)
      leave()
      expect((await harness.again().lifecycle.reconcile()).adopted).toEqual(['w'])
      expect(harness.runtime.held).toEqual(['w', 'w'])
      leave()
      harness.runtime.beforeHold = () => Promise.reject(new Error('the engine refused'))
      const next = harness.again()
      expect(await next.lifecycle.reconcile()).toEqual({ adopted: [], removed: ['w'], stopped: ['w'] })
      expect([harness.runtime.isRunning('w'), stateOf(next, 'w')]).toEqual([false, 'stopped'])
    },
  )

  test('a sandbox that outlived its stop is stopped', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    await harness.fleet.lifecycle.stop('w', 'idle')
    await harness.runtime.plant(harness.runtime.started[0]!)
    await harness.again().lifecycle.reconcile()
    expect(harness.runtime.isRunning('w')).toBe(false)
  })

  test('the reason of a failure outlives the mesh', async () => {
    harness = await aWorker()
    harness.runtime.beforeStart = () => Promise.reject(new Error('no image'))
    await harness.fleet.connection.ensureRunning('w', patient).catch(() => {})
    const next = harness.again()
    await next.lifecycle.reconcile()
    expect(stateOf(next, 'w')).toBe('restarting')
  })

  test('two reconciled agents do not disturb each other', async () => {
    harness = await aWorker()
    await harness.fleet.admin.create(owner, { id: 'x', role: 'x' })
    await harness.fleet.connection.ensureRunning('w', patient)
    await harness.fleet.connection.ensureRunning('x', patient)
    await harness.runtime.stop('x', { graceMs: 0 })
    expect(await harness.again().lifecycle.reconcile()).toEqual({
      adopted: ['w'],
      removed: [],
      stopped: ['x'],
    })
  })
})
