import type { RunOutcome } from '@flotilla/protocol/run'
import type { TaskState } from '@flotilla/protocol/task'
import type { RunRecord, RunTasks, TellRun } from '../runs/index.ts'
import type { MoveTask } from './move-task.ts'
import type { TaskTable } from './task-table.ts'

/** Why a task failed although its run ended well. */
const endedOpen = 'The agent ended without complete_task. Its last words: '

/** What the ledger needs of tasks. A run that ends never closes a task as done: only `complete_task` does. */
export function createTasksOfRuns({
  table,
  moveTask,
}: {
  readonly table: TaskTable
  readonly moveTask: MoveTask
}): RunTasks {
  const awaited = (taskId: string) => {
    const task = table.find(taskId)
    return task && (task.state === 'pending' || task.state === 'accepted' || task.state === 'working')
      ? task
      : null
  }

  return {
    awaited,
    openChildren: table.workedChildren,
    work: (taskId) => {
      const task = table.find(taskId)
      if (!task) return null
      const { title, description, data, creator } = task
      return { inputData: { title, description, data }, context: { creator } }
    },
    began: (run) => {
      const task = run.taskId === null ? null : table.find(run.taskId)
      if (task)
        moveTask(task, { to: 'working', actor: 'system', summary: null, result: null, tell: () => {} })
    },
    runSettled: (run: RunRecord, tell: TellRun) => {
      const task = run.taskId === null ? null : table.find(run.taskId)
      const end = task && run.outcome ? endOf(run.outcome, task.state) : null
      if (task && end) moveTask(task, { ...end, actor: 'system', result: null, tell })
    },
  }
}

/** What a run's end means for its task; null where the task stays as it is. A blocked task outlives a run that ends well. */
function endOf(outcome: RunOutcome, state: TaskState): { to: TaskState; summary: string } | null {
  switch (outcome.status) {
    case 'done':
      return state === 'blocked' ? null : { to: 'failed', summary: `${endedOpen}${outcome.text}` }
    case 'cancelled':
      return { to: 'cancelled', summary: outcome.text }
    case 'failed':
      // Not the task's fault: it can go on once there is money again.
      if (outcome.code === 'budget-exhausted')
        return { to: 'blocked', summary: `${outcome.code}: ${outcome.text}` }
      return { to: 'failed', summary: [outcome.code, outcome.text].filter(Boolean).join(': ') }
    case 'expired':
      return { to: 'failed', summary: [outcome.code, outcome.text].filter(Boolean).join(': ') }
  }
}
