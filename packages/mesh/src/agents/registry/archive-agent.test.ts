import { afterEach, describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { aWorker, owner, patient, stateOf } from '../../testing/fleet-harness.ts'
import type { FleetHarness } from '../../testing/fleet-harness.ts'

let world: FleetHarness
afterEach(() => world.close())

const tokensOf = (start: number) => [
  world.runtime.doorTokens[start] ?? '',
  world.runtime.started[start]?.environment['OPENAI_API_KEY'] ?? '',
]
const known = (start: number) =>
  tokensOf(start).map((token) => world.fleet.connection.verifyToken(token) !== null)

describe('an archived agent', () => {
  test('is stopped, given no work and started by nobody, until it is taken back', async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    await world.fleet.admin.archive.archive(owner, 'w')
    const archived = { code: 'agent-archived' }
    expect(stateOf(world.fleet, 'w')).toBe('archived')
    expect(world.runtime.isRunning('w')).toBe(false)
    expect(() => world.fleet.registry.requireWorking('w')).toThrow(expect.objectContaining(archived))
    expect(world.fleet.registry.listAgents(owner).map(({ id }) => id)).not.toContain('w')
    await expect(world.fleet.connection.ensureRunning('w', patient)).rejects.toMatchObject(archived)
    await expect(world.fleet.lifecycle.restart(owner, 'w')).rejects.toMatchObject(archived)
    await world.fleet.lifecycle.sweep()
    expect(world.runtime.started).toHaveLength(1)

    await world.fleet.admin.archive.unarchive(owner, 'w')
    expect(stateOf(world.fleet, 'w')).toBe('stopped')
    await world.fleet.connection.ensureRunning('w', patient)
    expect(stateOf(world.fleet, 'w')).toBe('running')
    expect(world.journal.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['agent.archived', 'agent.unarchived']),
    )
  })

  test('stays one over a restart of the mesh, and twice is once', async () => {
    world = await aWorker()
    await world.fleet.admin.archive.archive(owner, 'w')
    await world.fleet.admin.archive.archive(owner, 'w')
    expect(world.journal.filter(({ action }) => action === 'agent.archived')).toHaveLength(1)
    await expect(world.again().connection.ensureRunning('w', patient)).rejects.toMatchObject({
      code: 'agent-archived',
    })
  })

  test('is no operator, and agents put nobody away', async () => {
    world = await aWorker()
    await world.fleet.lifecycle.ensureOperator()
    await expect(world.fleet.admin.archive.archive(owner, 'operator')).rejects.toMatchObject({
      code: 'reserved-agent-id',
    })
    const agent = { kind: 'agent', agentId: 'w', token: 'door', run: null } as const
    await expect(world.fleet.admin.archive.archive(agent, 'w')).rejects.toMatchObject({ code: 'denied' })
    await expect(world.fleet.admin.archive.unarchive(agent, 'w')).rejects.toMatchObject({ code: 'denied' })
  })
})

describe('the tokens of a start are dead', () => {
  heedsLesson(9)
  const startedWorker = async () => {
    world = await aWorker()
    await world.fleet.connection.ensureRunning('w', patient)
    expect(known(0)).toEqual([true, true])
  }

  test('after a stop, an archiving and a deletion', async () => {
    for (const end of [
      () => world.fleet.lifecycle.stop('w', 'asked'),
      () => world.fleet.admin.archive.archive(owner, 'w'),
      () => world.fleet.admin.delete(owner, 'w'),
    ]) {
      await startedWorker()
      await end()
      expect(known(0)).toEqual([false, false])
      await world.close()
    }
    world = await aWorker()
  })

  test('after a start that failed half-way', async () => {
    world = await aWorker()
    world.runtime.beforeStart = () => Promise.reject(new Error('the engine fails'))
    await expect(world.fleet.connection.ensureRunning('w', patient)).rejects.toThrow(/the engine fails/)
    expect(known(0)).toEqual([false, false])
  })

  test('once a restart has given new ones', async () => {
    await startedWorker()
    await world.fleet.lifecycle.restart(owner, 'w')
    expect([known(0), known(1)]).toEqual([
      [false, false],
      [true, true],
    ])
  })
})
