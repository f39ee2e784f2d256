import { afterEach, describe, expect, test } from 'vitest'
import { modelLabel } from '../lifecycle/agent-sandbox.ts'
import { aWorker, owner, patient } from '../../testing/fleet-harness.ts'
import type { FleetHarness } from '../../testing/fleet-harness.ts'

let world: FleetHarness
afterEach(() => world.close())

const models = () => world.runtime.started.map((spec) => spec.environment['FLOTILLA_MODEL'])

describe('a change of an agent', () => {
  test('counts at once where no sandbox runs', async () => {
    world = await aWorker()
    expect(world.fleet.admin.change('w', { model: 'scripted/b' })).toEqual({ takesEffect: 'now' })
    await world.fleet.connection.ensureRunning('w', patient)
    await world.fleet.connection.ensureRunning('w', patient)
    expect(models()).toEqual(['scripted/b'])
  })

  test('made twice re-creates the sandbox once, and the model of the running one counts until then', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    world.fleet.admin.change('w', { model: 'scripted/b' })
    world.fleet.admin.change('w', { model: 'scripted/c', role: 'other' })
    expect(world.fleet.lifecycle.modelInUse('w')).toBe('scripted/demo')
    await world.fleet.connection.ensureRunning('w', patient)
    await world.fleet.connection.ensureRunning('w', patient)
    expect(models()).toEqual(['scripted/demo', 'scripted/c'])
    expect(world.runtime.started.at(-1)?.environment['FLOTILLA_AGENT_ROLE']).toBe('other')
    expect(world.fleet.lifecycle.modelInUse('w')).toBe('scripted/c')
  })

  test('is known of a sandbox that another mesh adopts, by its label', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    expect(world.runtime.started[0]?.labels[modelLabel]).toBe('scripted/demo')
    world.fleet.admin.change('w', { model: 'scripted/b' })
    const next = world.again()
    await next.lifecycle.reconcile()
    expect(next.lifecycle.modelInUse('w')).toBe('scripted/demo')
    await next.connection.ensureRunning('w', patient)
    expect(models()).toEqual(['scripted/demo', 'scripted/b'])
  })

  test('of nobody is refused', async () => {
    world = await aWorker()
    expect(() => world.fleet.admin.change('ghost', { role: 'x' })).toThrow('no agent')
  })
})

test('a deletion that was meant for an agent does not reach the one made anew under its id', async () => {
  world = await aWorker()
  const meant = world.fleet.registry.find('w')?.createdAt ?? 0
  await world.fleet.admin.delete(owner, 'w')
  await world.clock.advance(1000)
  await world.fleet.admin.create(owner, { id: 'w', role: 'another' })
  await expect(world.fleet.admin.delete(owner, 'w', { createdAt: meant })).rejects.toMatchObject({
    code: 'conflict',
  })
  expect(world.fleet.registry.find('w')?.role).toBe('another')
})
