import { afterEach, describe, expect, test } from 'vitest'
import { aWorker, owner, patient, stateOf } from '../../../../testing/src/fleet-harness.ts'
import type { FleetHarness } from '../../../../testing/src/fleet-harness.ts'

let harness: FleetHarness
afterEach(() => harness.close())

const minuteMs = 60_000
const idleAfterAnHour = {
  hibernateAfterMs: (agentId: string) => (agentId === 'awake' ? null : 60 * minuteMs),
}

async function sweepAfter(ms: number): Promise<void> {
  await harness.clock.advance(ms)
  await harness.fleet.lifecycle.sweep()
}

describe('an idle agent', () => {
  test('an idle agent sleeps after the time that its settings say, not before, and the next work wakes it', async () => {
    harness = await aWorker(idleAfterAnHour)
    const gone: unknown[] = []
    harness.deps.fleetEvents.sandboxGone.subscribe((end) => gone.push(end))
    await harness.fleet.connection.ensureRunning('w', patient)
    await sweepAfter(59 * minuteMs)
    expect(stateOf(harness.fleet, 'w')).toBe('running')
    await sweepAfter(minuteMs)
    expect(stateOf(harness.fleet, 'w')).toBe('hibernated')
    expect(harness.runtime.isRunning('w')).toBe(false)
    expect(harness.fleet.connection.verifyToken(harness.runtime.doorTokens[0] ?? '')).toBeNull()
    expect(gone).toEqual([{ agentId: 'w', reason: 'stopped' }])
    await sweepAfter(600 * minuteMs)
    expect(stateOf(harness.fleet, 'w')).toBe('hibernated')
    await harness.fleet.connection.ensureRunning('w', patient)
    expect(stateOf(harness.fleet, 'w')).toBe('running')
    expect(harness.moves).toEqual(
      ['starting', 'running', 'stopping', 'hibernated', 'starting', 'running'].map((to) => `w ${to}`),
    )
  })

  test('an idle agent stays awake where its own setting says so, and the operator always does', async () => {
    harness = await aWorker(idleAfterAnHour)
    await harness.fleet.admin.create(owner, { id: 'awake', role: 'r' })
    await harness.fleet.lifecycle.ensureOperator()
    for (const id of ['w', 'awake', 'operator']) await harness.fleet.connection.ensureRunning(id, patient)
    await sweepAfter(600 * minuteMs)
    const states = ['w', 'awake', 'operator'].map((id) => stateOf(harness.fleet, id))
    expect(states).toEqual(['hibernated', 'running', 'running'])
    await expect(harness.fleet.lifecycle.hibernate(owner, 'operator')).rejects.toMatchObject({
      code: 'reserved-agent-id',
    })
  })

  test.each(['a caller reached it', 'a run of it ended'])(
    'an idle agent has its whole time again since %s',
    async (what) => {
      harness = await aWorker(idleAfterAnHour)
      await harness.fleet.connection.ensureRunning('w', patient)
      await harness.clock.advance(50 * minuteMs)
      if (what === 'a caller reached it') await harness.fleet.connection.reach('w', patient)
      else {
        harness.fleet.lifecycle.runSettled({ agentId: 'w', state: 'failed' })
      }
      await sweepAfter(59 * minuteMs)
      expect(stateOf(harness.fleet, 'w')).toBe('running')
      await sweepAfter(minuteMs)
      expect(stateOf(harness.fleet, 'w')).toBe('hibernated')
    },
  )

  test('an agent with work is not idle and is not hibernated', async () => {
    harness = await aWorker(idleAfterAnHour)
    let work = ['it has work']
    harness.deps.fleetEvents.reasonsToStayAwake.subscribe(() => work)
    await harness.fleet.connection.ensureRunning('w', patient)
    await sweepAfter(600 * minuteMs)
    expect(stateOf(harness.fleet, 'w')).toBe('running')
    await expect(harness.fleet.lifecycle.hibernate(owner, 'w')).rejects.toMatchObject({ code: 'conflict' })
    work = []
    await harness.fleet.lifecycle.hibernate(owner, 'w')
    await harness.fleet.lifecycle.hibernate(owner, 'w')
    expect(stateOf(harness.fleet, 'w')).toBe('hibernated')
  })

  test('a caller that reaches it while it hibernates waits and gets it running', async () => {
    harness = await aWorker(idleAfterAnHour)
    await harness.fleet.connection.ensureRunning('w', patient)
    const [, connection] = await Promise.all([
      harness.fleet.lifecycle.hibernate(owner, 'w'),
      harness.fleet.connection.ensureRunning('w', patient),
    ])
    expect(connection.agentId).toBe('w')
    expect(await harness.fleet.connection.connectIfRunning('w').then((line) => line?.healthy(patient))).toBe(
      stateOf(harness.fleet, 'w') === 'running' ? true : undefined,
    )
  })

  test('agents without the right to manage the fleet cannot hibernate agents', async () => {
    harness = await aWorker(idleAfterAnHour)
    const agent = { kind: 'agent', agentId: 'x', token: 'door', run: null } as const
    await expect(harness.fleet.lifecycle.hibernate(agent, 'w')).rejects.toMatchObject({ code: 'denied' })
  })
})
