import { afterEach, describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { aWorker, owner, patient, stateOf } from '../../testing/fleet-harness.ts'
import type { FleetHarness } from '../../testing/fleet-harness.ts'

let world: FleetHarness
afterEach(() => world.close())

const refused = new Error('the engine refused')

/** The next so many stops are refused by the engine. */
function refuseStops(count: number): void {
  const { stop } = world.runtime
  let left = count
  world.runtime.stop = async (agentId, options) => {
    if (left-- > 0) throw refused
    return stop(agentId, options)
  }
}

describe('what the engine refused', () => {
  test.each([
    ['stop', 'stopped', () => world.fleet.lifecycle.stop('w', 'asked')],
    ['hibernate', 'hibernated', () => world.fleet.lifecycle.hibernate(owner, 'w')],
    ['archive', 'archived', () => world.fleet.admin.archive.archive(owner, 'w')],
  ] as const)('is gone on with by the next sweep: %s', async (_verb, rest, act) => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    refuseStops(1)
    await expect(act()).rejects.toThrow(refused)
    expect(stateOf(world.fleet, 'w')).toBe('stopping')
    expect(world.fleet.connection.verifyToken(world.runtime.doorTokens[0] ?? '')).toBeNull()
    await world.fleet.lifecycle.sweep()
    expect([stateOf(world.fleet, 'w'), world.runtime.isRunning('w')]).toEqual([rest, false])
  })

  test('is never weakened: one that shall be archived is not merely stopped, nor started', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    refuseStops(1)
    await expect(world.fleet.admin.archive.archive(owner, 'w')).rejects.toThrow(refused)
    await expect(world.fleet.connection.ensureRunning('w', patient)).rejects.toMatchObject({
      code: 'agent-archived',
    })
    await world.fleet.lifecycle.stop('w', 'asked')
    expect(stateOf(world.fleet, 'w')).toBe('archived')
  })

  test('a deletion that broke off goes on by itself, also in another life of the mesh', async () => {
    heedsLesson(98)
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    const { remove } = world.runtime
    world.runtime.remove = () => Promise.reject(refused)
    await expect(world.fleet.admin.delete(owner, 'w')).rejects.toThrow(refused)
    expect(stateOf(world.fleet, 'w')).toBe('deleted')
    expect(() => world.fleet.registry.requireWorking('w')).toThrow(
      expect.objectContaining({ code: 'unknown-agent' }),
    )
    await expect(world.fleet.admin.archive.unarchive(owner, 'w')).rejects.toMatchObject({
      code: 'unknown-agent',
    })
    await expect(world.fleet.admin.create(owner, { id: 'w', role: 'r' })).rejects.toMatchObject({
      code: 'conflict',
    })
    world.runtime.remove = remove
    const next = world.again()
    await next.lifecycle.reconcile()
    await next.lifecycle.sweep()
    expect(next.registry.find('w')).toBeNull()
    expect(world.runtime.removed).toContainEqual({ agentId: 'w', data: true })
    expect(world.grants.has('w')).toBe(false)
  })

  test('a stop that the mesh did not live to see ended is ended by its next life', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    refuseStops(1)
    await expect(world.fleet.lifecycle.hibernate(owner, 'w')).rejects.toThrow(refused)
    const next = world.again()
    await next.lifecycle.reconcile()
    expect([stateOf(next, 'w'), world.runtime.isRunning('w')]).toEqual(['hibernated', false])
  })
})

describe('a sandbox that should not run', () => {
  test.each(['of no agent', 'of an earlier start', 'of an agent that sleeps'])(
    'is taken away within ten minutes, with its data left: %s',
    async (whose) => {
      world = await aWorker()
      await world.fleet.connection.ensureRunning('w', patient)
      const spec = world.runtime.started[0]!
      if (whose === 'of an agent that sleeps') {
        await world.fleet.lifecycle.hibernate(owner, 'w')
        await world.runtime.plant(spec)
      } else if (whose === 'of no agent') await world.runtime.plant({ ...spec, agentId: 'stray' })
      else await world.runtime.plant({ ...spec, labels: { ...spec.labels, 'flotilla.start': 'another' } })
      await world.clock.advance(600_000)
      await world.fleet.lifecycle.sweep()
      const agentId = whose === 'of no agent' ? 'stray' : 'w'
      expect(world.runtime.removed).toEqual([{ agentId, data: false }])
      expect(world.runtime.isRunning('w')).toBe(whose === 'of no agent')
    },
  )
})

describe('a mesh that stops', () => {
  test('waits for what is under way with its agents, and not without end', async () => {
    heedsLesson(95)
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    let letGo = (): void => {}
    const { stop } = world.runtime
    world.runtime.stop = () => new Promise((resolve) => (letGo = () => resolve(undefined)))
    const stopped = world.fleet.lifecycle.stopAll('the mesh stops')
    await world.clock.advance(30_000)
    await stopped
    const closed = world.fleet.lifecycle.close()
    await world.clock.advance(30_000)
    await closed
    expect(stateOf(world.fleet, 'w')).toBe('stopping')
    world.runtime.stop = stop
    letGo()
  })

  test('leaves agents alone that do not run', async () => {
    world = await aWorker()
    for (const id of ['x', 'y', 'z']) await world.fleet.admin.create(owner, { id, role: 'r' })
    for (const id of ['w', 'x', 'y']) await world.fleet.connection.ensureRunning(id, patient)
    await world.fleet.lifecycle.hibernate(owner, 'w')
    await world.fleet.admin.archive.archive(owner, 'x')
    await world.fleet.lifecycle.stopAll('the mesh stops')
    const states = ['w', 'x', 'y', 'z'].map((id) => stateOf(world.fleet, id))
    expect(states).toEqual(['hibernated', 'archived', 'stopped', 'created'])
  })
})
