import { describe, expect, test } from 'vitest'
import { Problem } from '@flotilla/protocol/problem'
import type { Action, Caller } from '../../../identity/src/access/index.ts'
import { emptyTask } from './hand-off.ts'
import { createTaskAccess } from './task-access.ts'
import type { TaskRecord } from './task-table.ts'

const agent = (agentId: string): Caller => ({ kind: 'agent', agentId, token: 'door', run: null })
const owner: Caller = { kind: 'human', role: 'owner', channel: 'cli' }

/** One task of this row. Agents have the listed permissions, people have all. */
function anAccess(
  row: Partial<TaskRecord>,
  more: {
    readonly may?: Readonly<Record<string, readonly Action['do'][]>>
    readonly projects?: Readonly<Record<string, string>>
    readonly since?: number
  } = {},
) {
  const task = {
    ...emptyTask,
    id: 'task_1',
    creator: 'giver',
    assignee: 'worker',
    created_at: 100,
    ...row,
  } as TaskRecord
  const requests: string[] = []
  const isAllowed = (caller: Caller, action: Action) =>
    caller.kind !== 'agent' ||
    action.do === 'act-for-self' ||
    (more.may?.[caller.agentId] ?? []).includes(action.do)
  return {
    asked: requests,
    access: createTaskAccess({
      table: { find: (id) => (id === task.id ? task : null) },
      guard: (caller, action) => {
        requests.push(action.do === 'submit-run' ? `${action.do} ${action.to}` : action.do)
        if (!isAllowed(caller, action)) throw new Problem('denied', { detail: action.do })
      },
      decide: (caller, action) =>
        isAllowed(caller, action) ? { allowed: true } : { allowed: false, reason: '', field: null },
      projectOf: (agentId) => more.projects?.[agentId] ?? null,
      workEvents: { projectsSince: { ask: () => (more.since === undefined ? [] : [more.since]) } } as never,
    }),
  }
}

const codeOf = (act: () => unknown): string => {
  try {
    act()
    return 'let through'
  } catch (error) {
    return error instanceof Problem ? error.code : String(error)
  }
}

describe('seeing a task', () => {
  const seenBy = (agentId: string, ...given: Parameters<typeof anAccess>) =>
    codeOf(() => anAccess(...given).access.requireSeen(agent(agentId), 'task_1'))

  test('a task is visible to its assignee, its creator and people', () => {
    expect([seenBy('worker', {}), seenBy('giver', {}), seenBy('other', {})]).toEqual([
      'let through',
      'let through',
      'not-found',
    ])
    const { access, asked } = anAccess({})
    expect(access.requireSeen(owner, 'task_1').id).toBe('task_1')
    expect(() => access.requireSeen(owner, 'task_2')).toThrow('no task has this id, or you may not see it')
    access.requireSeen(agent('worker'), 'task_1')
    expect(asked).toEqual(['view-fleet', 'view-fleet', 'act-for-self'])
  })

  test('a task is visible to members of its project, but not of a later one with the same name', () => {
    const projects = { other: 'acme', stranger: 'lab' }
    expect(seenBy('other', { project: 'acme' }, { projects })).toBe('let through')
    expect(seenBy('other', { project: 'acme' }, { projects, since: 100 })).toBe('let through')
    expect(seenBy('other', { project: 'acme' }, { projects, since: 101 })).toBe('not-found')
    expect(seenBy('stranger', { project: 'acme' }, { projects })).toBe('not-found')
    expect(seenBy('other', { project: null }, { projects })).toBe('not-found')
  })

  test.each(['view-fleet', 'route-tasks'] as const)(
    'a task without a project is visible to callers who may %s, and every task to the operator',
    (right) => {
      const may = { other: [right], operator: [right] }
      expect(seenBy('other', { project: null }, { may })).toBe('let through')
      expect(seenBy('other', { project: 'acme' }, { may })).toBe('not-found')
      expect(seenBy('operator', { project: 'acme' }, { may })).toBe('let through')
      expect(seenBy('operator', { project: 'acme' })).toBe('not-found')
    },
  )
})

describe('acting on a task', () => {
  test("the creator's actions are for the creator and callers that route tasks", () => {
    const { access, asked } = anAccess({}, { may: { router: ['route-tasks'] } })
    expect(access.requireGiver(agent('giver'), 'task_1').creator).toBe('giver')
    expect(asked).toEqual(['act-for-self'])
    expect(codeOf(() => access.requireGiver(agent('worker'), 'task_1'))).toBe('denied')
    expect(codeOf(() => access.requireGiver(agent('router'), 'task_1'))).toBe('let through')
    expect(codeOf(() => access.requireGiver(agent('other'), 'task_1'))).toBe('not-found')
  })

  test("a router's actions are for callers that route tasks, whatever the task's creator is", () => {
    const { access } = anAccess({}, { may: { router: ['route-tasks'] } })
    expect(codeOf(() => access.requireRouter(agent('giver'), 'task_1'))).toBe('denied')
    expect(codeOf(() => access.requireRouter(agent('router'), 'task_1'))).toBe('let through')
  })

  test('people act on a task if they may give its agent work', () => {
    const { access, asked } = anAccess({})
    access.requireGiver(owner, 'task_1')
    access.requireRouter(owner, 'task_1')
    const each = ['view-fleet', 'route-tasks', 'submit-run worker']
    expect(asked.splice(0)).toEqual([...each, ...each])
    access.requireActing(owner)
    access.requireActing(agent('worker'))
    expect(asked).toEqual(['route-tasks', 'act-for-self'])
  })
})
