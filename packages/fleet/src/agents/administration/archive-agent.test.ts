import { afterEach, describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { aWorker, owner, patient, stateOf } from '../../../../testing/src/fleet-harness.ts'
import type { FleetHarness } from '../../../../testing/src/fleet-harness.ts'

let harness: FleetHarness
afterEach(() => harness.close())

const tokensOf = (start: number) => [
  harness.runtime.doorTokens[start] ?? '',
  harness.runtime.started[start]?.environment['OPENAI_API_KEY'] ?? '',
]
const known = (start: number) =>
  tokensOf(start).map((token) => harness.fleet.connection.verifyToken(token) !== null)

describe('an archived agent', () => {
  test('an archived agent is stopped, gets no work and cannot be started until it is unarchived', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    await harness.fleet.admin.archive.archive(owner, 'w')
    const archived = { code: 'agent-archived' }
    expect(stateOf(harness.fleet, 'w')).toBe('archived')
    expect(harness.runtime.isRunning('w')).toBe(false)
    expect(() => harness.fleet.registry.requireWorking('w')).toThrow(expect.objectContaining(archived))
    expect(harness.fleet.registry.listAgents(owner).map(({ id }) => id)).not.toContain('w')
    await expect(harness.fleet.connection.ensureRunning('w', patient)).rejects.toMatchObject(archived)
    await expect(harness.fleet.lifecycle.restart(owner, 'w')).rejects.toMatchObject(archived)
    await harness.fleet.lifecycle.sweep()
    expect(harness.runtime.started).toHaveLength(1)

    await harness.fleet.admin.archive.unarchive(owner, 'w')
    expect(stateOf(harness.fleet, 'w')).toBe('stopped')
    await harness.fleet.connection.ensureRunning('w', patient)
    expect(stateOf(harness.fleet, 'w')).toBe('running')
    expect(harness.journal.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['agent.archived', 'agent.unarchived']),
    )
  })

  test('an archived agent stays one over a restart of the mesh, and twice is once', async () => {
    harness = await aWorker()
    await harness.fleet.admin.archive.archive(owner, 'w')
    await harness.fleet.admin.archive.archive(owner, 'w')
    expect(harness.journal.filter(({ action }) => action === 'agent.archived')).toHaveLength(1)
    await expect(harness.again().connection.ensureRunning('w', patient)).rejects.toMatchObject({
      code: 'agent-archived',
    })
  })

  test('the operator cannot be archived, and agents cannot archive', async () => {
    harness = await aWorker()
    await harness.fleet.lifecycle.ensureOperator()
    await expect(harness.fleet.admin.archive.archive(owner, 'operator')).rejects.toMatchObject({
      code: 'reserved-agent-id',
    })
    const agent = { kind: 'agent', agentId: 'w', token: 'door', run: null } as const
    await expect(harness.fleet.admin.archive.archive(agent, 'w')).rejects.toMatchObject({ code: 'denied' })
    await expect(harness.fleet.admin.archive.unarchive(agent, 'w')).rejects.toMatchObject({ code: 'denied' })
  })
})

describe('the tokens of a start are dead', () => {
  heedsLesson(9)
  const startedWorker = async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    expect(known(0)).toEqual([true, true])
  }

  test('the tokens of a start are dead after a stop, an archiving and a deletion', async () => {
    for (const end of [
      () => harness.fleet.lifecycle.stop('w', 'asked'),
      () => harness.fleet.admin.archive.archive(owner, 'w'),
      () => harness.fleet.admin.delete(owner, 'w'),
    ]) {
      await startedWorker()
      await end()
      expect(known(0)).toEqual([false, false])
      await harness.close()
    }
    harness = await aWorker()
  })

  test('the tokens of a start are dead after a start that failed half-way', async () => {
    harness = await aWorker()
    harness.runtime.beforeStart = () => Promise.reject(new Error('the engine fails'))
    await expect(harness.fleet.connection.ensureRunning('w', patient)).rejects.toThrow(/the engine fails/)
    expect(known(0)).toEqual([false, false])
  })

  test('the tokens of a start are dead once a restart has given new ones', async () => {
    await startedWorker()
    await harness.fleet.lifecycle.restart(owner, 'w')
    expect([known(0), known(1)]).toEqual([
      [false, false],
      [true, true],
    ])
  })
})
