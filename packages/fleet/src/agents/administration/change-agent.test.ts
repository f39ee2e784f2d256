import { afterEach, describe, expect, test } from 'vitest'
import { modelLabel } from '../lifecycle/agent-sandbox.ts'
import { aWorker, owner, patient } from '../../../../testing/src/fleet-harness.ts'
import type { FleetHarness } from '../../../../testing/src/fleet-harness.ts'

let harness: FleetHarness
afterEach(() => harness.close())

const models = () => harness.runtime.started.map((spec) => spec.environment['FLOTILLA_MODEL'])

describe('a change of an agent', () => {
  test('a change of an agent counts at once where no sandbox runs', async () => {
    harness = await aWorker()
    expect(harness.fleet.admin.change('w', { model: 'scripted/b' })).toEqual({ takesEffect: 'now' })
    await harness.fleet.connection.ensureRunning('w', patient)
    await harness.fleet.connection.ensureRunning('w', patient)
    expect(models()).toEqual(['scripted/b'])
  })

  test('a change of an agent made twice re-creates the sandbox once, and the model of the running one counts until then', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    harness.fleet.admin.change('w', { model: 'scripted/b' })
    harness.fleet.admin.change('w', { model: 'scripted/c', role: 'other' })
    expect(harness.fleet.lifecycle.modelInUse('w')).toBe('scripted/demo')
    await harness.fleet.connection.ensureRunning('w', patient)
    await harness.fleet.connection.ensureRunning('w', patient)
    expect(models()).toEqual(['scripted/demo', 'scripted/c'])
    expect(harness.runtime.started.at(-1)?.environment['FLOTILLA_AGENT_ROLE']).toBe('other')
    expect(harness.fleet.lifecycle.modelInUse('w')).toBe('scripted/c')
  })

  test('a change of an agent is known of a sandbox that another mesh adopts, by its label', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    expect(harness.runtime.started[0]?.labels[modelLabel]).toBe('scripted/demo')
    harness.fleet.admin.change('w', { model: 'scripted/b' })
    const next = harness.again()
    await next.lifecycle.reconcile()
    expect(next.lifecycle.modelInUse('w')).toBe('scripted/demo')
    await next.connection.ensureRunning('w', patient)
    expect(models()).toEqual(['scripted/demo', 'scripted/b'])
  })

  test('a change of an unknown agent is refused', async () => {
    harness = await aWorker()
    expect(() => harness.fleet.admin.change('ghost', { role: 'x' })).toThrow('no agent')
  })
})

test('a deletion does not affect an agent that was re-created under the same id', async () => {
  harness = await aWorker()
  const meant = harness.fleet.registry.find('w')?.createdAt ?? 0
  await harness.fleet.admin.delete(owner, 'w')
  await harness.clock.advance(1000)
  await harness.fleet.admin.create(owner, { id: 'w', role: 'another' })
  await expect(harness.fleet.admin.delete(owner, 'w', { createdAt: meant })).rejects.toMatchObject({
    code: 'conflict',
  })
  expect(harness.fleet.registry.find('w')?.role).toBe('another')
})
