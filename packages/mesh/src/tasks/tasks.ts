import type { Kernel } from '../kernel/index.ts'
import type { RunDelivery, RunLifecycle, RunQueries, RunQueue } from '../runs/index.ts'
import { createCompleteTask } from './complete-task.ts'
import { createGiveTask, createHandOff } from './hand-off.ts'
import { createListInbox, createListStaleTasks, createListTasks } from './list-tasks.ts'
import { createManageTask } from './manage-task.ts'
import { createReadTask } from './read-task.ts'
import { createReleaseTasks } from './release-tasks.ts'
import { createReviewTask } from './review-task.ts'
import { createTaskAccess } from './task-access.ts'
import { createTaskQueue } from './task-queue.ts'
import type { TaskStore } from './task-store.ts'
import { createUpdateTask } from './update-task.ts'

export type Tasks = ReturnType<typeof createTasks>

/** What tasks ask of runs. */
type TaskRuns = Pick<RunQueue, 'submitRun' | 'isLaneFull'> &
  Pick<RunQueries, 'find' | 'chainOf' | 'usedBy'> &
  Pick<RunLifecycle, 'live' | 'cancelRun'> &
  Pick<RunDelivery, 'notifyRun'>

/** What tasks ask of agents. */
export interface TaskAgents {
  readonly projectOf: (agentId: string) => string | null
  /** Throws the Problem `unknown-agent`, or `agent-archived` for one that is given no work. */
  readonly requireAgent: (agentId: string) => void
  /** Why an agent cannot be reached at the moment, in words; null where nothing is known. */
  readonly unreachable: (agentId: string) => string | null
  /** After the commit of what was said of its work. */
  readonly feedbackGiven: (agentId: string) => void
}

export function createTasks(
  given: Pick<
    Kernel,
    'database' | 'events' | 'journal' | 'guard' | 'decide' | 'clock' | 'newId' | 'hooks' | 'log'
  > &
    TaskStore &
    TaskAgents & { readonly ledger: TaskRuns },
) {
  const { table, history } = given
  const access = createTaskAccess(given)
  const queue = createTaskQueue(given)
  const deps = { ...given, access, queue }
  given.hooks.feedbackFor.subscribe((agentId) =>
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
    /** Caps of one task, for whoever holds calls to them. */
    capsOf: (taskId: string) => {
      const task = table.find(taskId)
      return {
        maxTurns: task?.max_turns ?? null,
        maxCostUsd: task?.max_cost_usd ?? null,
        callsBefore: task?.calls_before ?? 0,
      }
    },
    /** Whether a saved file belongs to a task that the agent gave or was given. */
    sharesArtifact: table.shares,
    countsOf: table.countsOf,
    ofProject: table.list,
    /** What waits and can begin does. */
    release: queue.releaseAll,
    sweep: createReleaseTasks(deps).sweep,
  }
}
