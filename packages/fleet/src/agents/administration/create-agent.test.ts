import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import { afterEach, describe, expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../../tests/verifies.ts'
import type { Caller } from '../../../../identity/src/access/caller.ts'
import { aFleet, aWorker, owner, patient, reasonOf, stateOf } from '../../../../testing/src/fleet-harness.ts'
import type { FleetHarness } from '../../../../testing/src/fleet-harness.ts'
import { agentsMax } from './create-agent.ts'

let harness: FleetHarness
afterEach(() => harness.close())

const worker: Caller = { kind: 'agent', agentId: 'w', token: 'door', run: null }
const doorTokenOf = (start: number) => harness.runtime.doorTokens[start] ?? ''

describe('creating an agent', () => {
  test('a new agent is a worker, never started, with the default budget and record', async () => {
    verifies('purpose:agent:worker-or-operator')
    harness = await aWorker()
    expect(harness.fleet.registry.find('w')).toEqual({
      id: 'w',
      kind: 'worker',
      role: 'does work',
      model: null,
      instructions: '',
      budget: { dailyUsd: 10, monthlyUsd: 200 },
      project: null,
      createdAt: 1_000_000,
    })
    expect(stateOf(harness.fleet, 'w')).toBe('created')
    expect(harness.grants.get('w')).toEqual({})
    expect(harness.events).toEqual([{ type: 'agent.created', agent_id: 'w', role: 'does work' }])
    expect(harness.journal).toMatchObject([{ actor: 'human:cli', action: 'agent.created', subject: 'w' }])
  })

  test('creating an agent in a project requires the right to manage projects, too', async () => {
    harness = await aFleet({
      guard: (_caller, action) => {
        if (action.do === 'manage-projects') throw new Problem('denied')
      },
    })
    const create = (project?: string) =>
      harness.fleet.admin.create(worker, {
        id: 'x',
        role: 'x',
        ...(project === undefined ? {} : { project }),
      })
    await expect(create('acme')).rejects.toMatchObject({ code: 'denied' })
    expect(harness.fleet.registry.find('x')).toBeNull()
    await create()
    expect(harness.fleet.registry.find('x')?.project).toBeNull()
  })

  test.each(['operator', 'Operator', 'mesh', 'canary-probe', 'owner', 'Owner', 'system', 'internal'])(
    '%s is reserved',
    async (id) => {
      verifies('purpose:operator:reserved-id')
      harness = await aFleet()
      await expect(harness.fleet.admin.create(owner, { id, role: 'x' })).rejects.toMatchObject({
        code: 'reserved-agent-id',
        repair: expect.stringContaining('operator, canary-probe, owner, system and internal are reserved'),
      })
      expect(harness.grants.size).toBe(0)
    },
  )

  test.each(['', '../x', 'a b', 'a/b', '-a', 'a'.repeat(65), 'ä', 'a\n'])('%j is no id', async (id) => {
    harness = await aFleet()
    await expect(harness.fleet.admin.create(owner, { id, role: 'x' })).rejects.toMatchObject({
      code: 'bad-request',
    })
  })

  test('a second agent of one id is refused and changes nothing of the first', async () => {
    harness = await aFleet()
    await harness.fleet.admin.create(owner, {
      id: 'w',
      role: 'first',
      permissions: { can_use_browser: true },
    })
    const again = harness.fleet.admin.create(owner, { id: 'w', role: 'second' })
    await expect(again).rejects.toMatchObject({ code: 'conflict' })
    expect(harness.fleet.registry.find('w')?.role).toBe('first')
    expect(harness.grants.get('w')).toEqual({ can_use_browser: true })
  })

  test('twenty concurrent creations of one agent create exactly one', async () => {
    heedsLesson(67)
    harness = await aFleet()
    const tries = Array.from({ length: 20 }, () => harness.fleet.admin.create(owner, { id: 'w', role: 'x' }))
    const ends = await Promise.allSettled(tries)
    expect(ends.filter((end) => end.status === 'fulfilled')).toHaveLength(1)
    expect(harness.events).toHaveLength(1)
  })

  test('ten concurrent creations at the agent limit create exactly one', async () => {
    heedsLesson(67)
    harness = await aFleet()
    const row = harness.database.prepare(
      "INSERT INTO agents (id, kind, role, instructions, budget_daily_usd, budget_monthly_usd, created_at, state, state_since) VALUES (?, 'worker', 'r', '', 1, 1, 0, 'created', 0)",
    )
    for (let at = 1; at < agentsMax; at++) row.run(`filled-${at}`)
    const tries = Array.from({ length: 10 }, (_, at) =>
      harness.fleet.admin.create(owner, { id: `w${at}`, role: 'x' }),
    )
    const ends = await Promise.allSettled(tries)
    expect(ends.filter((end) => end.status === 'fulfilled')).toHaveLength(1)
    expect(harness.fleet.registry.list()).toHaveLength(agentsMax)
    expect(harness.grants.size).toBe(1)
    const refusals = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []))
    for (const refusal of refusals) expect(refusal).toMatchObject({ code: 'unprocessable' })
  })

  test.each<Caller>([
    { kind: 'agent', agentId: 'operator', token: 'door', run: null },
    { kind: 'human', role: 'owner', channel: 'telegram', user: 'owner' },
    { kind: 'internal' },
  ])('by %j may spend at most what a new agent gets by itself', async (caller) => {
    harness = await aFleet({ guard: () => {} })
    for (const budget of [
      { dailyUsd: 10.01, monthlyUsd: 1 },
      { dailyUsd: 1, monthlyUsd: 30_000 },
    ]) {
      const made = harness.fleet.admin.create(caller, { id: 'w', role: 'x', budget })
      await expect(made).rejects.toMatchObject({ code: 'human-only' })
    }
    expect(harness.fleet.registry.find('w')).toBeNull()
    await harness.fleet.admin.create(caller, { id: 'w', role: 'x', budget: { dailyUsd: 10, monthlyUsd: 1 } })
    const budget = { dailyUsd: 1000, monthlyUsd: 30_000 }
    expect((await harness.fleet.admin.create(owner, { id: 'x', role: 'x', budget })).budget).toEqual(budget)
  })

  test('permissions that cannot be written leave no agent', async () => {
    harness = await aFleet()
    harness.deps.grants.grantDefaults = () => Promise.reject(new Error('disk full'))
    await expect(harness.fleet.admin.create(owner, { id: 'w', role: 'x' })).rejects.toThrow('disk full')
    expect(harness.fleet.registry.find('w')).toBeNull()
    expect(harness.events).toEqual([])
  })

  test('a row that cannot be written leaves no permissions', async () => {
    harness = await aFleet()
    harness.deps.journal.append = () => {
      throw new Error('chain broken')
    }
    await expect(harness.fleet.admin.create(owner, { id: 'w', role: 'x' })).rejects.toThrow('chain broken')
    expect(harness.fleet.registry.find('w')).toBeNull()
    expect(harness.grants.size).toBe(0)
  })

  test('a caller without the right to manage the fleet cannot create agents', async () => {
    harness = await aFleet()
    await expect(harness.fleet.admin.create(worker, { id: 'x', role: 'x' })).rejects.toMatchObject({
      code: 'denied',
    })
    expect(harness.fleet.registry.list()).toEqual([])
  })

  test('only a person at the terminal can grant more than the operator may', async () => {
    harness = await aFleet({ guard: () => {} })
    const operator: Caller = { ...worker, agentId: 'operator' }
    const made = harness.fleet.admin.create(operator, {
      id: 'x',
      role: 'x',
      permissions: { can_spawn: true },
    })
    await expect(made).rejects.toMatchObject({ code: 'human-only' })
    const chat = { kind: 'human', role: 'owner', channel: 'telegram', user: 'owner' } as const
    for (const caller of [chat, { kind: 'internal' } as const]) {
      const asked = harness.fleet.admin.create(caller, {
        id: 'x',
        role: 'x',
        permissions: { can_spawn: true },
      })
      await expect(asked).rejects.toMatchObject({ code: 'human-only' })
    }
    await harness.fleet.admin.create(owner, { id: 'x', role: 'x', permissions: { can_spawn: true } })
    expect(harness.grants.get('x')).toEqual({ can_spawn: true })
  })

  test('only a person at the terminal can add MCP servers', async () => {
    harness = await aFleet()
    const asked = { id: 'm', role: 'reads', mcpServers: { files: { command: 'files', args: [], env: {} } } }
    const inChat: Caller = { kind: 'human', role: 'owner', channel: 'telegram', user: 'owner' }
    await expect(harness.fleet.admin.create(inChat, asked)).rejects.toMatchObject({ code: 'human-only' })
    await harness.fleet.admin.create(owner, asked)
    expect(harness.fleet.registry.mcpServers.of('m')).toMatchObject(asked.mcpServers)
    await harness.fleet.admin.delete(owner, 'm')
    expect(harness.fleet.registry.mcpServers.of('m')).toEqual({})
  })

  test('a requested model is checked with its caller, and a refused model leaves no agent', async () => {
    const asked: unknown[] = []
    harness = await aFleet({
      requireModel: (caller, wanted) => {
        asked.push([caller, wanted])
        throw new Problem('human-only')
      },
    })
    const made = harness.fleet.admin.create(owner, { id: 'x', role: 'x', model: 'perplexity/sonar' })
    await expect(made).rejects.toMatchObject({ code: 'human-only' })
    expect(asked).toEqual([[owner, { agentId: 'x', model: 'perplexity/sonar' }]])
    expect(harness.fleet.registry.find('x')).toBeNull()
  })

  test('running agents learn of a new agent', async () => {
    harness = await aWorker()
    harness.grants.set('w', { can_message: ['*'], can_route_tasks: true })
    await harness.fleet.connection.ensureRunning('w', patient)
    await harness.fleet.admin.create(owner, { id: 'x', role: 'paints' })
    const brief = await readFile(join(harness.runtime.started[0]!.briefingDirectory, 'SYSTEM.md'), 'utf8')
    expect(brief).toContain('- `x`: paints')
  })
})

describe('the operator', () => {
  test('the operator is created at start, once', async () => {
    verifies('purpose:operator:created-at-startup', 'purpose:operator:reserved-id')
    harness = await aFleet()
    await harness.fleet.lifecycle.ensureOperator()
    await harness.again().lifecycle.ensureOperator()
    expect(harness.fleet.registry.find('operator')).toMatchObject({ id: 'operator', kind: 'operator' })
    expect(harness.events).toHaveLength(1)
    expect([...harness.grants.keys()]).toEqual(['operator'])
  })

  test('the operator cannot be deleted', async () => {
    harness = await aFleet()
    await harness.fleet.lifecycle.ensureOperator()
    await expect(harness.fleet.admin.delete(owner, 'operator')).rejects.toMatchObject({
      code: 'reserved-agent-id',
    })
  })

  test('the operator gets the small container and its own bootstrap files', async () => {
    harness = await aFleet()
    await harness.fleet.lifecycle.ensureOperator()
    harness.grants.set('operator', { can_message: ['*'] })
    await harness.fleet.connection.ensureRunning('operator', patient)
    const spec = harness.runtime.started[0]!
    expect(spec.kind).toBe('operator')
    expect(spec.memoryLimitBytes).toBe(128 * 1024 * 1024)
    const brief = await readFile(join(spec.briefingDirectory, 'SYSTEM.md'), 'utf8')
    expect(brief).toMatch(/end your turn.*comes back to you by itself/s)
  })
})

describe('deleting an agent', () => {
  test('deleting an agent removes sandbox, data, tokens, permissions and bootstrap files, and keeps the audit log', async () => {
    const forgotten: string[] = []
    harness = await aWorker()
    harness.deps.fleetEvents.agentDeleted.subscribe((agentId) => void forgotten.push(agentId))
    await harness.fleet.connection.ensureRunning('w', patient)
    const { briefingDirectory } = harness.runtime.started[0]!
    await harness.fleet.admin.delete(owner, 'w')
    expect(harness.fleet.registry.find('w')).toBeNull()
    expect(harness.runtime.removed).toEqual([{ agentId: 'w', data: true }])
    expect(harness.fleet.connection.verifyToken(doorTokenOf(0))).toBeNull()
    expect(harness.grants.size).toBe(0)
    expect(forgotten).toEqual(['w'])
    await expect(access(briefingDirectory)).rejects.toThrow('ENOENT')
    expect(harness.journal.map((entry) => entry.action)).toEqual([
      'agent.created',
      'agent.started',
      'agent.stopped',
      'agent.deleted',
    ])
  })

  test('data goes also when the agent never ran', async () => {
    harness = await aWorker()
    await harness.fleet.admin.delete(owner, 'w')
    expect(harness.runtime.removed).toEqual([{ agentId: 'w', data: true }])
  })

  test('one that broke off can be asked for again', async () => {
    let broken = true
    harness = await aWorker()
    harness.deps.fleetEvents.agentFilesDropped.subscribe(async () => {
      if (broken) throw new Error('disk gone')
    })
    await expect(harness.fleet.admin.delete(owner, 'w')).rejects.toThrow('disk gone')
    expect(harness.fleet.registry.find('w')).not.toBeNull()
    broken = false
    await harness.fleet.admin.delete(owner, 'w')
    expect(harness.fleet.registry.find('w')).toBeNull()
  })

  test('deleting an agent is refused before anything is gone where a store cannot be freed of it', async () => {
    harness = await aWorker()
    harness.deps.fleetEvents.agentLeaving.subscribe(async () => {
      throw new Error('a file is broken')
    })
    await expect(harness.fleet.admin.delete(owner, 'w')).rejects.toThrow('a file is broken')
    expect(harness.fleet.registry.find('w')).not.toBeNull()
    expect(harness.runtime.removed).toEqual([])
  })

  test('during a start it breaks the start off', async () => {
    harness = await aWorker()
    harness.runtime.mute.add('w')
    const started = reasonOf(harness.fleet.connection.ensureRunning('w', patient))
    while (!harness.runtime.isRunning('w')) await new Promise((resolve) => setImmediate(resolve))
    await harness.fleet.admin.delete(owner, 'w')
    expect(await started).toContain('deleted')
    expect(await harness.runtime.list()).toEqual([])
  })

  test.each<Caller>([
    worker,
    { kind: 'agent', agentId: 'operator', token: 'door', run: null },
    { kind: 'human', role: 'owner', channel: 'telegram', user: 'owner' },
    { kind: 'internal' },
    { kind: 'system' },
  ])('is for people at a terminal: case %#', async (caller) => {
    harness = await aWorker({ guard: () => {} })
    await expect(harness.fleet.admin.delete(caller, 'w')).rejects.toMatchObject({ code: 'human-only' })
    expect(harness.fleet.registry.find('w')).not.toBeNull()
  })

  test('a new agent of the same id is a new agent', async () => {
    harness = await aWorker()
    await harness.fleet.connection.ensureRunning('w', patient)
    await harness.fleet.admin.delete(owner, 'w')
    await harness.fleet.admin.create(owner, { id: 'w', role: 'new' })
    expect(stateOf(harness.fleet, 'w')).toBe('created')
    await harness.fleet.connection.ensureRunning('w', patient)
    expect(harness.fleet.connection.verifyToken(doorTokenOf(0))).toBeNull()
  })
})

describe('the list of agents', () => {
  test('an agent sees the other agents that it may message', async () => {
    harness = await aFleet({
      decide: (_caller, action) =>
        action.do === 'message-agent' && action.to === 'x'
          ? { allowed: true }
          : { allowed: false, reason: '', field: null },
    })
    for (const id of ['w', 'x', 'y']) await harness.fleet.admin.create(owner, { id, role: id })
    expect(harness.fleet.registry.listAgents(worker)).toEqual([
      { id: 'x', kind: 'worker', role: 'x', state: 'created', capabilities: [] },
    ])
  })

  test('people see model, state, work and budget of all agents', async () => {
    harness = await aFleet()
    await harness.fleet.admin.create(owner, {
      id: 'w',
      role: 'r',
      model: 'openai/x',
      budget: { dailyUsd: 2, monthlyUsd: 3 },
    })
    await harness.fleet.admin.create(owner, { id: 'x', role: 'r' })
    const views = harness.fleet.registry.view((id) => ({
      busy: id === 'w',
      queued: 1,
      waiting: 2,
      costTodayUsd: 0.5,
      pausedReason: null,
    }))
    expect(views).toEqual([
      {
        id: 'w',
        kind: 'worker',
        role: 'r',
        model: 'openai/x',
        state: 'created',
        state_since: null,
        retry_at: null,
        busy: true,
        queued: 1,
        waiting: 2,
        cost_today_usd: 0.5,
        budget: { daily_usd: 2, monthly_usd: 3 },
        archived: false,
        paused: null,
        last_error: null,
        waits_for: null,
        isolation: { wanted: 'container', required: 'container', runs_on: null, fallback: null },
      },
      expect.objectContaining({ id: 'x', model: 'scripted/demo', busy: false }),
    ])
  })
})
