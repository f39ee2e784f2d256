import { afterEach, describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { aWorker, owner, patient, stateOf } from '../../../../testing/src/fleet-harness.ts'
import type { FleetHarness } from '../../../../testing/src/fleet-harness.ts'

let harness: FleetHarness
afterEach(() => harness.close())

const refused = new Error('the engine refused')

/** Makes the engine reject the next `count` stops. */
function refuseStops(count: number): void {
  const { stop } = harness.runtime
  let left = count
  harness.runtime.stop = async (agentId, options) => {
    if (left-- > 0) throw refused
    return stop(agentId, options)
  }
}

describe('a run of an agent whose sandbox is ended by the mesh', () => {
  test.each([
    ['a stop', 'stopped', () => harness.fleet.lifecycle.stop('w', 'asked')],
    ['an archiving', 'stopped', () => harness.fleet.admin.archive.archive(owner, 'w')],
    ['a lost heartbeat', 'died', () => endSilent()],
  ] as const)(
    'a run of an agent whose sandbox is ended by the mesh is interrupted by %s before the sandbox can report refused calls',
    async (_what, reason, act) => {
      harness = await aWorker()
      const gone: unknown[] = []
      harness.deps.fleetEvents.sandboxGone.subscribe((end) => gone.push(end))
      await harness.fleet.connection.ensureRunning('w', patient)
      const atStop: unknown[] = []
      const { stop } = harness.runtime
      harness.runtime.stop = async (agentId, options) => {
        atStop.push(...gone)
        return stop(agentId, options)
      }
      await act()
      expect(atStop).toMatchObject([{ agentId: 'w', reason }])
      expect(gone).toHaveLength(1)
    },
  )
})

/** Ends the agent by three unanswered health checks. */
async function endSilent(): Promise<void> {
  harness.runtime.mute.add('w')
  for (let miss = 0; miss < 3; miss++) {
    await harness.clock.advance(30_000)
    await harness.fleet.lifecycle.sweep()
  }
}

describe('operations that the engine refused', () => {
  test.each([
    ['stop', 'stopped', () => harness.fleet.lifecycle.stop('w', 'asked')],
    ['hibernate', 'hibernated', () => harness.fleet.lifecycle.hibernate(owner, 'w')],
    ['archive', 'archived', () => harness.fleet.admin.archive.archive(owner, 'w')],
  ] as const)(
    'an operation that the engine refused is completed by the next sweep: %s',
    async (_verb, rest, act) => {
      harness = await aWorker()
      await harness.fleet.connection.ensureRunning('w', patient)
      refuseStops(1)
      await expect(act()).rejects.toThrow(refused)
      expect(stateOf(harness.fleet, 'w')).toBe('stopping')
      expect(harness.fleet.connection.verifyToken(harness.runtime.doorTokens[0] ?? '')).toBeNull()
      await harness.fleet.lifecycle.sweep()
      expect([stateOf(harness.fleet, 'w'), harness.runtime.isRunning('w')]).toEqual([rest, false])
    },
  )

  test('an operation that the engine refused is never weakened: an agent that shall be archived is not merely stopped, nor started', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    refuseStops(1)
    await expect(harness.fleet.admin.archive.archive(owner, 'w')).rejects.toThrow(refused)
    await expect(harness.fleet.connection.ensureRunning('w', patient)).rejects.toMatchObject({
      code: 'agent-archived',
    })
    await harness.fleet.lifecycle.stop('w', 'asked')
    expect(stateOf(harness.fleet, 'w')).toBe('archived')
  })

  test('an interrupted deletion continues by itself, also after a restart of the mesh', async () => {
    heedsLesson(98)
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    const { remove } = harness.runtime
    harness.runtime.remove = () => Promise.reject(refused)
    await expect(harness.fleet.admin.delete(owner, 'w')).rejects.toThrow(refused)
    expect(stateOf(harness.fleet, 'w')).toBe('deleted')
    expect(() => harness.fleet.registry.requireWorking('w')).toThrow(
      expect.objectContaining({ code: 'unknown-agent' }),
    )
    await expect(harness.fleet.admin.archive.unarchive(owner, 'w')).rejects.toMatchObject({
      code: 'unknown-agent',
    })
    await expect(harness.fleet.admin.create(owner, { id: 'w', role: 'r' })).rejects.toMatchObject({
      code: 'conflict',
    })
    harness.runtime.remove = remove
    const next = harness.again()
    await next.lifecycle.reconcile()
    await next.lifecycle.sweep()
    expect(next.registry.find('w')).toBeNull()
    expect(harness.runtime.removed).toContainEqual({ agentId: 'w', data: true })
    expect(harness.grants.has('w')).toBe(false)
  })

  test('a stop interrupted by the end of the mesh is completed after the restart', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    refuseStops(1)
    await expect(harness.fleet.lifecycle.hibernate(owner, 'w')).rejects.toThrow(refused)
    const next = harness.again()
    await next.lifecycle.reconcile()
    expect([stateOf(next, 'w'), harness.runtime.isRunning('w')]).toEqual(['hibernated', false])
  })
})

describe('a sandbox that should not run', () => {
  test.each(['of no agent', 'of an earlier start', 'of an agent that sleeps'])(
    'a sandbox that should not run is taken away within ten minutes, with its data left: %s',
    async (whose) => {
      harness = await aWorker()
      await harness.fleet.connection.ensureRunning('w', patient)
      const spec = harness.runtime.started[0]!
      if (whose === 'of an agent that sleeps') {
        await harness.fleet.lifecycle.hibernate(owner, 'w')
        await harness.runtime.plant(spec)
      } else if (whose === 'of no agent') await harness.runtime.plant({ ...spec, agentId: 'stray' })
      else await harness.runtime.plant({ ...spec, labels: { ...spec.labels, 'flotilla.start': 'another' } })
      await harness.clock.advance(600_000)
      await harness.fleet.lifecycle.sweep()
      const agentId = whose === 'of no agent' ? 'stray' : 'w'
      expect(harness.runtime.removed).toEqual([{ agentId, data: false }])
      expect(harness.runtime.isRunning('w')).toBe(whose === 'of no agent')
    },
  )
})

describe('a mesh that stops', () => {
  test('close waits for running operations with a time limit', async () => {
    heedsLesson(95)
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    let proceed = (): void => {}
    const { stop } = harness.runtime
    harness.runtime.stop = () => new Promise((resolve) => (proceed = () => resolve(undefined)))
    const stopped = harness.fleet.lifecycle.stopAll('the mesh stops')
    await harness.clock.advance(30_000)
    await stopped
    const closed = harness.fleet.lifecycle.close()
    await harness.clock.advance(30_000)
    await closed
    expect(stateOf(harness.fleet, 'w')).toBe('stopping')
    harness.runtime.stop = stop
    proceed()
  })

  test('a mesh that stops leaves agents alone that do not run', async () => {
    harness = await aWorker()
    for (const id of ['x', 'y', 'z']) await harness.fleet.admin.create(owner, { id, role: 'r' })
    for (const id of ['w', 'x', 'y']) await harness.fleet.connection.ensureRunning(id, patient)
    await harness.fleet.lifecycle.hibernate(owner, 'w')
    await harness.fleet.admin.archive.archive(owner, 'x')
    await harness.fleet.lifecycle.stopAll('the mesh stops')
    const states = ['w', 'x', 'y', 'z'].map((id) => stateOf(harness.fleet, id))
    expect(states).toEqual(['hibernated', 'archived', 'stopped', 'created'])
  })
})
