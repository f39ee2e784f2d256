import { afterEach, describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { aWorker, owner, patient, stateOf } from '../../../../testing/src/fleet-harness.ts'
import type { FleetHarness } from '../../../../testing/src/fleet-harness.ts'
import type { Fleet } from '../fleet.ts'

let harness: FleetHarness
afterEach(() => harness.close())

const settle = async () => {
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve))
}

async function sweepAfter(ms: number, fleet: Fleet = harness.fleet): Promise<void> {
  await harness.clock.advance(ms)
  await fleet.lifecycle.sweep()
}

async function die(code = 1): Promise<void> {
  await harness.runtime.kill('w', code)
  await settle()
}

/** Lets the agent die once more than it may be restarted within an hour; returns the notices to the owner. */
async function inQuarantine(): Promise<string[]> {
  harness = await aWorker()
  const told: string[] = []
  harness.deps.fleetEvents.ownerNoticed.subscribe(({ message }) => void told.push(message))
  await harness.fleet.connection.ensureRunning('w', patient)
  for (let loss = 0; loss < 3; loss++) {
    await die()
    await harness.fleet.connection.ensureRunning('w', patient)
  }
  await die()
  expect(stateOf(harness.fleet, 'w')).toBe('quarantined')
  return told
}

describe('an agent that is lost for the fourth time within an hour', () => {
  test('an agent that is lost for the fourth time within an hour is in quarantine, and people are notified once with reason and repair', async () => {
    const told = await inQuarantine()
    for (let trial = 0; trial < 3; trial++) {
      await sweepAfter(1_200_000)
      expect(stateOf(harness.fleet, 'w')).toBe('running')
      await die()
    }
    expect(stateOf(harness.fleet, 'w')).toBe('quarantined')
    expect(told).toHaveLength(1)
    expect(told[0]).toContain('ended with exit code 1')
    expect(told[0]).toContain('flotilla restart w')
  })

  test('an agent that is lost for the fourth time within an hour is not started by work: a waiting caller gets a problem, other work stays queued', async () => {
    await inQuarantine()
    const quarantined = { code: 'agent-quarantined', retryAfterSeconds: 1200 }
    await expect(harness.fleet.connection.ensureRunning('w', patient)).rejects.toMatchObject(quarantined)
    await expect(harness.fleet.connection.reach('w', patient)).rejects.toMatchObject(quarantined)
    expect(() => harness.fleet.registry.requireWorking('w', 'waits')).toThrow(
      expect.objectContaining(quarantined),
    )
    expect(() => harness.fleet.registry.requireWorking('w')).not.toThrow()
    expect(harness.runtime.started).toHaveLength(4)
  })

  test('an agent that is lost for the fourth time within an hour leaves quarantine after ten healthy minutes, with its restart budget reset, and people are notified', async () => {
    heedsLesson(91)
    const told = await inQuarantine()
    await sweepAfter(1_200_000)
    expect(stateOf(harness.fleet, 'w')).toBe('running')
    await sweepAfter(300_000)
    expect(told).toHaveLength(1)
    await sweepAfter(300_000)
    expect(told[1]).toContain('healthy again')
    await die()
    expect(stateOf(harness.fleet, 'w')).toBe('restarting')
  })

  test('an agent that is lost for the fourth time within an hour heals with the first run that comes to its end', async () => {
    await inQuarantine()
    await sweepAfter(1_200_000)
    harness.fleet.lifecycle.runSettled({ agentId: 'w', state: 'done' })
    await die()
    expect(stateOf(harness.fleet, 'w')).toBe('restarting')
  })

  test('an agent that is lost for the fourth time within an hour is tried at once by a person, and as soon as the engine is back', async () => {
    await inQuarantine()
    await harness.fleet.lifecycle.restart(owner, 'w')
    expect(stateOf(harness.fleet, 'w')).toBe('running')
    await harness.close()
    await inQuarantine()
    await sweepAfter(1000)
    expect(stateOf(harness.fleet, 'w')).toBe('quarantined')
    harness.runtime.comeBack()
    await sweepAfter(1000)
    expect(stateOf(harness.fleet, 'w')).toBe('running')
  })

  test('an agent that is lost for the fourth time within an hour stays in quarantine over a restart of the mesh, and so do restarts that count', async () => {
    await inQuarantine()
    const next = harness.again()
    expect(await next.lifecycle.reconcile()).toEqual({ adopted: [], removed: [], stopped: [] })
    expect(stateOf(next, 'w')).toBe('quarantined')
    await sweepAfter(1_200_000, next)
    await harness.runtime.kill('w', 1)
    await settle()
    expect(stateOf(next, 'w')).toBe('quarantined')
  })
})

test('an end for want of memory is named as such', async () => {
  harness = await aWorker()
  await harness.fleet.connection.ensureRunning('w', patient)
  await harness.runtime.stop('w', { graceMs: 0 })
  harness.runtime.reportEnd('w', 137, true)
  await settle()
  const [view] = harness.fleet.registry.view(() => ({
    busy: false,
    queued: 0,
    waiting: 0,
    costTodayUsd: 0,
    pausedReason: null,
  }))
  expect(view?.last_error).toBe(
    'the kernel killed the agent because its container ran out of memory (limit: 384 MB)',
  )
  expect(harness.events.at(-1)).toMatchObject({ type: 'agent.died', out_of_memory: true })
  expect(harness.journal.at(-1)?.detail).toMatchObject({ out_of_memory: true, reason: view?.last_error })
})
