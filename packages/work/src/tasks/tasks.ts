import type { RunDelivery, RunLifecycle, RunQueries, RunQueue } from '../runs/index.ts'
import { createCompleteTask } from './complete-task.ts'
import { createGiveTask, createHandOff } from './hand-off.ts'
import { createListInbox, createListStaleTasks, createListTasks } from './list-tasks.ts'
import { createManageTask } from './manage-task.ts'
import { createReleaseTasks } from './release-tasks.ts'
import { createReviewTask } from './review-task.ts'
import { createTaskAccess } from './task-access.ts'
import { createTaskQueue } from './task-queue.ts'
import type { TaskStore } from './task-store.ts'
import { createUpdateTask } from './update-task.ts'
import type { WorkKernel } from '../events/index.ts'
import type { TaskView } from '@flotilla/protocol/task'
import type { Caller } from '@flotilla/identity/access'
import type { TaskAccess } from './task-access.ts'
import type { TaskHistory, TaskHistoryRow } from './task-history.ts'
import { taskView } from './task-table.ts'
import type { TaskTable } from './task-table.ts'

export type Tasks = ReturnType<typeof createTasks>

/** The parts of the run ledger that tasks use. */
type TaskRuns = Pick<RunQueue, 'submitRun' | 'isLaneFull'> &
  Pick<RunQueries, 'find' | 'chainOf' | 'usedBy'> &
  Pick<RunLifecycle, 'live' | 'cancelRun'> &
  Pick<RunDelivery, 'notifyRun'>

/** The parts of the agents module that tasks use. */
export interface TaskAgents {
  readonly projectOf: (agentId: string) => string | null
  /** Throws the Problems `unknown-agent`, and `agent-archived` for an archived agent. */
  readonly requireAgent: (agentId: string) => void
  /** Returns why an agent cannot be reached now; null if no reason is known. */
  readonly unreachable: (agentId: string) => string | null
  /** Called with the agent's id after the commit of a review. */
  readonly feedbackGiven: (agentId: string) => void
}

export function createTasks(
  given: Pick<
    WorkKernel,
    | 'database'
    | 'events'
    | 'journal'
    | 'guard'
    | 'decide'
    | 'clock'
    | 'newId'
    | 'log'
    | 'identityEvents'
    | 'fleetEvents'
    | 'workEvents'
  > &
    TaskStore &
    TaskAgents & { readonly ledger: TaskRuns },
) {
  const { table, history } = given
  const access = createTaskAccess(given)
  const queue = createTaskQueue(given)
  const deps = { ...given, access, queue }
  given.fleetEvents.feedbackFor.subscribe((agentId) =>
    history
      .feedbackFor(agentId)
      .map(({ position, task_id: taskId, title, outcome, comment, said_by: by }) => ({
        position,
        taskId,
        title,
        outcome,
        comment,
        by,
      })),
  )
  return {
    handOff: createHandOff(deps),
    giveTask: createGiveTask(deps),
    completeTask: createCompleteTask(deps),
    updateTask: createUpdateTask(deps),
    manageTask: createManageTask(deps),
    reviewTask: createReviewTask(deps),
    readTask: createReadTask(deps),
    listInbox: createListInbox(deps),
    listTasks: createListTasks(deps),
    listStaleTasks: createListStaleTasks(deps),
    /** Returns the limits of one task, for the modules that enforce them. */
    capsOf: (taskId: string) => {
      const task = table.find(taskId)
      return {
        maxTurns: task?.max_turns ?? null,
        maxCostUsd: task?.max_cost_usd ?? null,
        callsBefore: task?.calls_before ?? 0,
      }
    },
    /** Returns true if a file is attached to a task that the agent gave or was given. */
    sharesArtifact: table.shares,
    countsOf: table.countsOf,
    openOf: table.openOf,
    openCount: table.openCount,
    ofProject: table.list,
    /** Starts all waiting tasks that can start. */
    release: queue.releaseAll,
    sweep: createReleaseTasks(deps).sweep,
  }
}

/** The maximum number of child tasks that the view of one task lists. */
const childrenMax = 100

interface TaskDetail {
  readonly task: TaskView
  /** The steps of the task, oldest first. */
  readonly history: readonly TaskHistoryRow[]
  /** Ids of tasks that runs of this task handed off. */
  readonly children: readonly string[]
}

/**
 * Returns a task with its history, for its creator, its assignee, its project and callers that route tasks. Throws
 * Problem `not-found`.
 */
function createReadTask(deps: {
  readonly access: TaskAccess
  readonly table: TaskTable
  readonly history: TaskHistory
}): (caller: Caller, taskId: string) => TaskDetail {
  return (caller, taskId) => {
    const task = deps.access.requireSeen(caller, taskId)
    return {
      task: taskView(task),
      history: deps.history.of(taskId),
      children: deps.table.childIds(taskId, childrenMax),
    }
  }
}
