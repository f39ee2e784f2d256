import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../tests/verifies.ts'
import {
  actionWords,
  blockers,
  completeStatuses,
  isTaskOpen,
  manageActions,
  mayAct,
  taskActions,
  taskOutcomes,
  taskStates,
  taskTransitions,
  triedAgainAsNew,
  updateActions,
} from './task-actions.ts'
import type { TaskActionName, TaskActor } from './task-actions.ts'

/**
 * For each action: the open states from which it leads (p, a, w, b for pending, accepted, working, blocked), the
 * new state, the actor, and the tool. No action leads out of an ended task.
 */
const expected: Readonly<Record<TaskActionName, readonly [string, string, TaskActor, string | null]>> = {
  accept: ['p', 'accepted', 'assignee', 'update_task'],
  progress: ['paw', 'working', 'assignee', 'update_task'],
  block: ['paw', 'blocked', 'assignee', 'update_task'],
  done: ['paw', 'done', 'assignee', 'complete_task'],
  fail: ['paw', 'failed', 'assignee', 'complete_task'],
  blocked: ['paw', 'blocked', 'assignee', 'complete_task'],
  answer: ['b', 'pending', 'giver', 'manage_task'],
  retry: ['b', 'pending', 'router', 'manage_task'],
  reroute: ['pawb', 'pending', 'router', 'manage_task'],
  cancel: ['pawb', 'cancelled', 'giver', 'manage_task'],
  begin: ['pab', 'working', 'mesh', null],
  assume: ['paw', 'done', 'mesh', null],
  lose: ['paw', 'blocked', 'mesh', null],
}
const names = Object.keys(expected) as TaskActionName[]

describe('the table of what may be done with a task', () => {
  test.each(names)(
    'the table of what may be done with a task says of %s from which states it leads where, who may say it and by which tool',
    (name) => {
      heedsLesson(51)
      const [from, to, by, tool] = expected[name]
      const allowed = taskStates.filter((state) => mayAct(name, state))
      const open = new Map(Object.entries({ p: 'pending', a: 'accepted', w: 'working', b: 'blocked' }))
      expect(allowed).toEqual(Array.from(from, (letter) => open.get(letter)))
      expect(taskActions[name]).toMatchObject({ to, by, tool })
    },
  )

  test('the table of what may be done with a task has no further action, and nothing leads out of a task that ended', () => {
    expect(Object.keys(taskActions).toSorted()).toEqual(names.toSorted())
    expect(taskStates.filter(isTaskOpen)).toEqual(['pending', 'accepted', 'working', 'blocked'])
    expect(taskTransitions).toEqual({
      pending: ['pending', 'accepted', 'working', 'blocked', 'done', 'failed', 'cancelled'],
      accepted: ['pending', 'working', 'blocked', 'done', 'failed', 'cancelled'],
      working: ['pending', 'working', 'blocked', 'done', 'failed', 'cancelled'],
      blocked: ['pending', 'working', 'cancelled'],
      done: [],
      failed: [],
      cancelled: [],
    })
    expect(triedAgainAsNew).toEqual(['failed', 'cancelled'])
    expect(taskOutcomes).toEqual(['accepted', 'rework', 'rejected'])
    expect(blockers).toEqual(['question', 'infrastructure', 'dependency', 'budget'])
  })

  test('the table of what may be done with a task gives each tool just the actions that are its own, in words', () => {
    const of = (tool: string) => names.filter((name) => taskActions[name].tool === tool)
    expect(of('update_task')).toEqual([...updateActions])
    expect(of('manage_task')).toEqual([...manageActions])
    expect(of('complete_task')).toEqual(Object.values(completeStatuses))
    expect(completeStatuses).toEqual({ done: 'done', failed: 'fail', blocked: 'blocked' })
    expect(actionWords(['accept', 'done'])).toBe(
      `accept: ${taskActions.accept.description}; done: ${taskActions.done.description}`,
    )
  })
})
