import { missingAgent } from '../../../testing/src/missing-agent.ts'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import { expect, onTestFinished, test } from 'vitest'
import { collectJournal, countingIds } from '../../../../tests/support/collected-ports.ts'
import { eventually } from '../../../../tests/support/eventually.ts'
import type { Action } from '../../../identity/src/access/action.ts'
import { authorize } from '../../../identity/src/access/authorize.ts'
import type { Caller } from '../../../identity/src/access/caller.ts'
import { createEventBus } from '../../../foundation/src/events/create-event-bus.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { createBudgetTable } from '../../../inference/src/spending/budget-table.ts'
import { emptyTask } from '../../../work/src/tasks/hand-off.ts'
import { createTaskAccess } from '../../../work/src/tasks/task-access.ts'
import { createTaskTable } from '../../../work/src/tasks/task-table.ts'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import { artifactFolderName } from '../artifacts/artifact-files.ts'
import { artifactsModule } from '../artifacts/index.ts'
import { blackboardModule } from '../blackboard/index.ts'
import { topicsModule } from '../topics/index.ts'
import { projectsModule } from './index.ts'
import { ownLoop } from '../../../testing/src/own-loop.ts'
import { contextEvents } from '../../../testing/src/context-events.ts'
import type { CollaborationKernel } from '../events/index.ts'

const owner: Caller = { kind: 'human', role: 'owner', channel: 'cli' }
const agent = (agentId: string): Caller => ({
  kind: 'agent',
  agentId,
  token: 'door',
  run: {
    runId: `run_of_${agentId}`,
    agentId,
    fence: 1,
    taskId: null,
    origin: { kind: 'human', channel: 'cli' },
    budgetUsd: null,
    budgetTokens: null,
  },
})
const [scout, auditor] = [agent('scout'), agent('auditor')]

/** Everything that stores data of a project, with the real rules; `red` has much, `redder` a little. */
async function aHarness({ mayDropBudget = true } = {}) {
  const database = migrated()
  const time = { ms: 1000 }
  const clock = { now: () => time.ms, sleep: async () => {} }
  const contexts = contextEvents()
  const { identityEvents, fleetEvents, workEvents } = contexts
  const rows = new Map(
    ['scout', 'auditor'].map((id) => [id, { id, role: 'works', project: null as string | null }]),
  )
  const all = { blackboard_read: ['*'], blackboard_write: ['*'], can_publish: ['*'], can_subscribe: ['*'] }
  const rules = {
    broken: null,
    recordOf: () => permissionRecordSchema.parse({ ...all, can_manage_projects: true }),
    projectOf: (id: string) => identityEvents.projectOf.ask(id)[0] ?? null,
  }
  const decide = (caller: Caller, action: Action) => authorize(rules, caller, action)
  const guard = (caller: Caller, action: Action) => {
    const decision = decide(caller, action)
    if (!decision.allowed) throw new Problem('denied', { detail: decision.reason })
  }
  const journal = collectJournal()
  const events = createEventBus({ database, clock, log: silentLog })
  const kernel = {
    database,
    clock,
    ...contexts,
    guard,
    decide,
    journal,
    events,
    log: silentLog,
    newId: countingIds(),
    randomToken: countingIds().bind(null, 'msg'),
  } as unknown as CollaborationKernel
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-projects-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const agents = {
    registry: {
      find: (id: string) => rows.get(id) ?? null,
      require: (id: string) => rows.get(id) ?? missingAgent(id),
      list: () => [...rows.values()],
    },
    briefing: { refreshBriefings: async () => {} },
  }
  const tasks = createTaskTable(database)
  const access = createTaskAccess({
    table: tasks,
    guard,
    decide,
    projectOf: (id) => rows.get(id)?.project ?? null,
    workEvents,
  })
  const budgets = createBudgetTable(database)
  const blackboard = blackboardModule(kernel, { agents, runs: {} as never, loop: ownLoop() }).api
  const topics = topicsModule(kernel, { agents }).api
  const artifacts = artifactsModule(kernel, { folder, agents, tasks: { sharesArtifact: () => false } }).api
  const projects = projectsModule(kernel, {
    agents,
    tasks: { countsOf: tasks.countsOf, ofProject: tasks.list },
    budgets: {
      setAgentProject: (_caller, id, project) => {
        rows.get(id)!.project = project
        fleetEvents.membershipChanged.publish({ agentId: id, project })
      },
      set: (_caller, { id }) => {
        if (!mayDropBudget) throw new Problem('human-only')
        budgets.write(`project:${id}`, { dailyUsd: null, monthlyUsd: null })
      },
      view: (_caller, { id }) => {
        const { dailyUsd, monthlyUsd } = budgets.read(`project:${id}`)
        const used = { spent_usd: 0 } as never
        return {
          daily: { ...(used as object), spent_usd: 0, limit_usd: dailyUsd },
          monthly: { spent_usd: 0, limit_usd: monthlyUsd },
        } as never
      },
    },
  }).api
  const manage = (action: 'create' | 'archive' | 'add_members', name: string, ...members: string[]) =>
    projects.manage(owner, name, { action, agents: members })
  const share = (name: string) =>
    artifacts.save(scout, { name, contentBase64: 'YWJj', description: '', shared: true })
  const readTask = (caller: Caller) => access.requireSeen(caller, 'task_1')

  manage('create', 'redder')
  blackboard.write(owner, { key: 'projects/redder/plan', value: 'stays' })
  manage('create', 'red', 'scout')
  projects.write(owner, 'red', { text: 'Find all leaks.', expectedVersion: 0 })
  projects.write(owner, 'red', { section: 'Plan', text: 'First this.', expectedVersion: 0 })
  blackboard.watches.set(scout, { agentId: 'scout', pattern: 'projects/red/**', tell: 'steer' } as never)
  for (const value of ['one', 'two']) blackboard.write(scout, { key: 'projects/red/plan', value })
  blackboard.write(scout, { key: 'projects/red/history/first', value: 'kept' })
  topics.subscribe(scout, 'projects/red/news')
  topics.publish(owner, { topic: 'projects/red/news', text: 'said', data: null })
  await share('report.txt')
  budgets.write('project:red', { dailyUsd: 1, monthlyUsd: null })
  const work = {
    id: 'task_1',
    creator: 'human:cli',
    assignee: 'gone',
    title: 'Look',
    description: '',
    data: {},
  }
  const given = { origin: { kind: 'human', channel: 'cli' } as const, created_at: 1000, updated_at: 1000 }
  tasks.insert({ ...emptyTask, ...work, ...given, project: 'red' })
  time.ms = 2000
  const files = () => readdir(join(folder, artifactFolderName('scout')))
  return {
    database,
    projects,
    manage,
    blackboard,
    topics,
    artifacts,
    budgets,
    ...contexts,
    journal,
    rows,
    share,
    files,
    tasks,
    readTask,
  }
}

const code = (expected: string) => expect.objectContaining({ code: expected })

test('only people delete projects, and only archived ones', async () => {
  const { projects, manage, rows } = await aHarness()
  expect(() => projects.delete(owner, 'none')).toThrow(code('not-found'))
  const inUse = () => projects.delete(owner, 'red')
  expect(inUse).toThrow(code('conflict'))
  expect(inUse).toThrow(
    expect.objectContaining({ repair: expect.stringContaining('flotilla projects archive red') }),
  )
  manage('archive', 'red')
  expect(() => projects.delete(scout, 'red')).toThrow(code('denied'))
  expect(() => projects.delete({ ...owner, role: 'member', agents: ['*'] }, 'red')).toThrow(code('denied'))
  expect(projects.one(owner, 'red').members).toEqual(['scout'])
  projects.delete(owner, 'red')
  expect(rows.get('scout')?.project).toBeNull()
  expect(() => projects.one(owner, 'red')).toThrow(code('not-found'))
  expect(() => projects.delete(owner, 'red')).toThrow(code('not-found'))
})

test('a project whose budget the caller may not delete stays complete', async () => {
  const { projects, manage, blackboard } = await aHarness({ mayDropBudget: false })
  manage('archive', 'red')
  expect(() => projects.delete(owner, 'red')).toThrow(code('human-only'))
  expect(projects.one(owner, 'red').goal).toBe('Find all leaks.')
  expect(blackboard.read(owner, 'projects/red/plan').value).toBe('two')
})

test('a new project of the same name does not see data of the deleted one', async () => {
  const harness = await aHarness()
  const { projects, manage, blackboard, topics, artifacts, fleetEvents, tasks } = harness
  expect(fleetEvents.projectTexts.ask('scout')[0]).toContain('First this.')
  expect(harness.readTask(scout).title).toBe('Look')
  manage('archive', 'red')
  projects.delete(owner, 'red')
  expect(fleetEvents.projectTexts.ask('scout')).toEqual([])
  expect(harness.journal.entries.at(-1)).toMatchObject({ action: 'project.deleted', subject: 'red' })
  await eventually('the bytes of what was shared are gone', async () =>
    (await harness.files()).length === 0 ? true : null,
  )

  manage('create', 'red', 'auditor', 'scout')
  const fresh = projects.one(auditor, 'red')
  expect(fresh).toMatchObject({ goal: '', goal_version: 0, sections: [], tasks: {}, blocked: [], done: [] })
  expect(fresh.budget).toMatchObject({ daily_usd: null, monthly_usd: null })
  expect((await blackboard.list(auditor, 'projects/red')).entries).toEqual([])
  expect(() => blackboard.read(auditor, 'projects/red/plan')).toThrow(code('not-found'))
  expect(blackboard.watches.list(owner)).toEqual([])
  expect(topics.view(owner)).toEqual([])
  expect(topics.mine(scout)).toMatchObject({ topics: [], unread: 0 })
  expect(artifacts.listShared(auditor).rows).toEqual([])
  for (const table of [
    'blackboard_versions',
    'blackboard_changes',
    'topic_signals',
    'topic_unread',
    'budgets',
  ]) {
    const left = harness.database.prepare(`SELECT * FROM ${table}`).all()
    expect(JSON.stringify(left), table).not.toContain('red/')
    if (table !== 'blackboard_versions' && table !== 'budgets') expect(left, table).toEqual([])
  }
  expect(() => harness.readTask(auditor)).toThrow(code('not-found'))
  expect(tasks.find('task_1')?.project).toBe('red')
  expect(harness.readTask(owner).project).toBe('red')
  // A key that only has the project's name as prefix belongs to another project.
  expect(blackboard.read(owner, 'projects/redder/plan').value).toBe('stays')
  await harness.share('new.txt')
  expect(artifacts.listShared(auditor).rows.map(({ name }) => name)).toEqual(['new.txt'])
})
