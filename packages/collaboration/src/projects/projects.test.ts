import { missingAgent } from '../../../testing/src/missing-agent.ts'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { projectLimits } from '@flotilla/protocol/project-limits'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import type { Action } from '../../../identity/src/access/action.ts'
import { authorize } from '../../../identity/src/access/authorize.ts'
import type { Caller } from '../../../identity/src/access/caller.ts'
import { createEventBus } from '../../../foundation/src/events/create-event-bus.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import { createProjects } from './projects.ts'
import { contextEvents } from '../../../testing/src/context-events.ts'

const owner: Caller = { kind: 'human', role: 'owner', channel: 'cli' }
const agent = (agentId: string): Caller => ({ kind: 'agent', agentId, token: 'door', run: null })
const operator = agent('operator')

/**
 * Creates projects with the real rules: scout and auditor are workers, both may manage projects, and operator is the
 * operator.
 */
function aHarness(records: Record<string, Partial<PermissionRecord>> = {}) {
  const database = migrated()
  const clock = { now: () => 1000, sleep: async () => {} }
  const contexts = contextEvents()
  const { identityEvents, fleetEvents } = contexts
  const rows = new Map(
    ['operator', 'scout', 'auditor'].map((id) => [
      id,
      { id, role: `is ${id}`, project: null as string | null },
    ]),
  )
  const may = { can_manage_projects: true, can_message: ['*'], blackboard_read: ['*'] }
  const rules = {
    broken: null,
    recordOf: (id: string) => permissionRecordSchema.parse(records[id] ?? may),
    projectOf: (id: string) => identityEvents.projectOf.ask(id)[0] ?? null,
  }
  const decide = (caller: Caller, action: Action) => authorize(rules, caller, action)
  const guard = (caller: Caller, action: Action) => {
    const decision = decide(caller, action)
    if (!decision.allowed) throw new Problem('denied', { detail: decision.reason })
  }
  const events: FleetEventBody[] = []
  const bus = createEventBus({ database, clock, log: silentLog })
  bus.subscribe((event) => void events.push(event.body))
  let refreshed = 0
  const projects = createProjects({
    database,
    clock,
    ...contexts,
    guard,
    decide,
    journal: { append: () => {} },
    events: bus,
    agents: {
      find: (id) => rows.get(id) ?? null,
      require: (id) => rows.get(id) ?? missingAgent(id),
      list: () => [...rows.values()],
    },
    setAgentProject: (_caller, agentId, project) => {
      const row = rows.get(agentId)
      if (row) row.project = project
      fleetEvents.membershipChanged.publish({ agentId, project })
    },
    dropBudget: () => {},
    tasks: { countsOf: () => ({ done: 2 }), ofProject: () => [] },
    budgetOf: () => ({ daily_usd: 1, monthly_usd: null, today_usd: 0, month_usd: 0 }),
    refreshBriefings: () => void refreshed++,
  })
  const create = (name: string, ...agents: string[]) =>
    projects.manage(owner, name, { action: 'create', agents })
  const textOf = (agentId: string) => fleetEvents.projectTexts.ask(agentId)[0] ?? ''
  return { projects, create, textOf, decide, rows, events, fleetEvents, refreshed: () => refreshed }
}

const code = (expected: string) => expect.objectContaining({ code: expected })

describe('a project', () => {
  test('members of a project read it in PROJECT.md, and other agents do not', () => {
    const { projects, create, textOf, refreshed } = aHarness()
    create('red', 'scout')
    projects.write(owner, 'red', { text: 'Find all leaks.', criteria: ['none is left'], expectedVersion: 0 })
    projects.write(owner, 'red', {
      section: 'Customers',
      text: 'They are\u200B patient.',
      expectedVersion: 0,
    })
    const text = textOf('scout')
    expect(text).toContain('# Project red')
    expect(text).toContain('## Goal\n\nFind all leaks.')
    expect(text).toContain('- none is left')
    expect(text).toContain('## Customers\n\nThey are patient.')
    expect(text).toContain('- `scout`: is scout')
    expect(textOf('auditor')).toBe('')
    expect(textOf('operator')).toBe('')
    expect(refreshed()).toBeGreaterThan(0)
  })

  test('a writer with an outdated version is rejected and receives the current text', () => {
    heedsLesson(57)
    const { projects, create } = aHarness()
    create('red', 'scout')
    const write = (text: string, expectedVersion: number) =>
      projects.write(owner, 'red', { section: 'Plan', text, expectedVersion })
    expect(write('first', 0).sections).toMatchObject([{ text: 'first', version: 1, updated_by: 'human:cli' }])
    const late = () => write('second, unseen', 0)
    expect(late).toThrow(code('version-conflict'))
    expect(late).toThrow(
      expect.objectContaining({ detail: expect.stringContaining('The current text: first') }),
    )
    expect(write('first and second', 1).sections).toMatchObject([{ text: 'first and second', version: 2 }])
    const goal = (text: string, expectedVersion: number) =>
      projects.write(operator, 'red', { text, expectedVersion })
    goal('one', 0)
    expect(() => goal('two', 0)).toThrow(code('version-conflict'))
    expect(projects.one(owner, 'red')).toMatchObject({ goal: 'one', goal_version: 1 })
  })

  test('a deleted section keeps its version', () => {
    const { projects, create } = aHarness()
    create('red')
    const write = (text: string, expectedVersion: number) =>
      projects.write(owner, 'red', { section: 'Plan', text, expectedVersion })
    write('first', 0)
    expect(write('', 1).sections).toEqual([])
    expect(() => write('late', 1)).toThrow(code('version-conflict'))
    expect(write('anew', 0).sections).toMatchObject([{ text: 'anew', version: 3 }])
  })

  test('texts, sections and members of a project are limited', () => {
    const { projects, create } = aHarness()
    create('red')
    const goal = { text: 'x'.repeat(projectLimits.goalMaxChars + 1), expectedVersion: 0 }
    expect(() => projects.write(owner, 'red', goal)).toThrow(code('bad-request'))
    for (let count = 0; count < projectLimits.sectionsMax; count++) {
      projects.write(owner, 'red', { section: `s${count}`, text: 'x', expectedVersion: 0 })
    }
    const more = { section: 'more', text: 'x', expectedVersion: 0 }
    expect(() => projects.write(owner, 'red', more)).toThrow(code('unprocessable'))
  })

  test('an archived project can be read but not changed', () => {
    const { projects, create, decide, textOf } = aHarness()
    create('red', 'scout')
    projects.manage(owner, 'red', { action: 'archive', agents: [] })
    const key = 'projects/red/plan'
    expect(decide(agent('scout'), { do: 'read-blackboard', key }).allowed).toBe(true)
    expect(decide(agent('scout'), { do: 'write-blackboard', key }).allowed).toBe(false)
    expect(textOf('scout')).toContain('is archived')
    const write = { text: 'x', expectedVersion: 0 }
    expect(() => projects.write(owner, 'red', write)).toThrow(code('conflict'))
    const add = { action: 'add_members', agents: ['auditor'] } as const
    expect(() => projects.manage(owner, 'red', add)).toThrow(code('conflict'))
    projects.manage(owner, 'red', { action: 'unarchive', agents: [] })
    expect(decide(agent('scout'), { do: 'write-blackboard', key }).allowed).toBe(true)
    expect(projects.manage(owner, 'red', add).members).toEqual(['scout', 'auditor'])
  })

  test('adding members reports those that came from another project, and only those', () => {
    const { projects, create } = aHarness()
    expect(create('red', 'scout').moved).toEqual([])
    expect(create('blue', 'scout', 'auditor').moved).toEqual([{ agent: 'scout', from: 'red' }])
    expect(create('blue', 'scout').moved).toEqual([])
    expect(projects.one(owner, 'red').members).toEqual([])
  })

  test('adding a member also reports its spawned agents and the projects that they left', () => {
    const { create, rows, fleetEvents } = aHarness()
    for (const id of ['spawn_1', 'spawn_2']) rows.set(id, { id, role: '', project: null })
    // Simulates spawned agents, which follow their parent.
    fleetEvents.membershipChanged.subscribe(({ agentId, project }) => {
      const child = rows.get({ scout: 'spawn_1', spawn_1: 'spawn_2' }[agentId] ?? '')
      if (!child) return
      child.project = project
      fleetEvents.membershipChanged.publish({ agentId: child.id, project })
    })
    expect(create('red', 'scout').moved).toEqual([])
    const from = 'red'
    expect(create('blue', 'scout').moved).toEqual([
      { agent: 'scout', from },
      { agent: 'spawn_1', from },
      { agent: 'spawn_2', from },
    ])
    expect(create('blue', 'scout').moved).toEqual([])
  })

  test('a project is created with the first agent that is charged to its name', () => {
    const { projects, fleetEvents, rows } = aHarness()
    rows.get('scout')!.project = 'blue'
    fleetEvents.membershipChanged.publish({ agentId: 'scout', project: 'blue' })
    expect(projects.list(owner)).toMatchObject([{ name: 'blue', members: ['scout'], tasks: { done: 2 } }])
  })
})

describe('walls between projects', () => {
  function twoProjects() {
    const harness = aHarness()
    harness.create('red', 'scout')
    harness.create('blue', 'auditor')
    return harness
  }

  test('access to project keys depends on membership, whatever patterns a record contains', () => {
    heedsLesson(35)
    const { decide } = twoProjects()
    const may = (who: string, action: Action) => decide(agent(who), action).allowed
    for (const key of ['projects/red/plan', 'projects/red']) {
      expect(may('scout', { do: 'read-blackboard', key })).toBe(true)
      expect(may('scout', { do: 'write-blackboard', key })).toBe(true)
      expect(may('auditor', { do: 'read-blackboard', key })).toBe(false)
      expect(may('auditor', { do: 'write-blackboard', key })).toBe(false)
    }
    expect(may('scout', { do: 'publish-topic', topic: 'projects/red/news' })).toBe(true)
    expect(may('auditor', { do: 'publish-topic', topic: 'projects/red/news' })).toBe(false)
    expect(may('auditor', { do: 'subscribe-topic', topic: 'projects/red/news' })).toBe(false)
    expect(may('auditor', { do: 'message-agent', to: 'scout' })).toBe(false)
    expect(may('auditor', { do: 'steer-agent', to: 'scout', gave: true })).toBe(false)
    expect(may('operator', { do: 'message-agent', to: 'scout' })).toBe(true)
    expect(may('operator', { do: 'read-blackboard', key: 'projects/red/plan' })).toBe(true)
    expect(may('scout', { do: 'read-blackboard', key: 'projects-of-ours/plan' })).toBe(true)
  })

  test('a worker that manages projects is limited to its own, and the operator manages all', () => {
    const { projects } = twoProjects()
    const goal = { text: 'x', expectedVersion: 0 }
    expect(projects.write(agent('scout'), 'red', goal).goal).toBe('x')
    expect(() => projects.write(agent('scout'), 'blue', goal)).toThrow(code('denied'))
    const create = { action: 'create', agents: [] } as const
    expect(() => projects.manage(agent('scout'), 'green', create)).toThrow(code('denied'))
    expect(projects.manage(operator, 'green', create).name).toBe('green')
  })

  test('other projects are hidden from the caller', () => {
    const { projects } = twoProjects()
    expect(projects.list(agent('scout')).map(({ name }) => name)).toEqual(['red'])
    expect(projects.list(operator).map(({ name }) => name)).toEqual(['blue', 'red'])
    const missing = () => projects.one(agent('scout'), 'none')
    const hidden = () => projects.one(agent('scout'), 'blue')
    expect(missing).toThrow(code('not-found'))
    expect(hidden).toThrow(code('not-found'))
    expect(missing).toThrow('there is no project none; the projects are red')
    expect(() => projects.one(operator, 'bleu')).toThrow('there is no project bleu; did you mean blue?')
  })

  test('members cannot manage a project without the permission to manage projects', () => {
    const { projects, create } = aHarness({ scout: { can_manage_projects: false } })
    create('red', 'scout')
    expect(() => projects.write(agent('scout'), 'red', { text: 'x', expectedVersion: 0 })).toThrow(
      code('denied'),
    )
    expect(projects.one(agent('scout'), 'red').name).toBe('red')
  })
})
