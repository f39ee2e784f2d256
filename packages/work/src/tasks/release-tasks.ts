import type { Clock } from '@flotilla/protocol/clock'
import { isTaskOpen, taskLimits } from '@flotilla/protocol/task-actions'
import type { ChangedTask, WorkEvents } from '../events/index.ts'
import type { RunDelivery } from '../runs/index.ts'
import type { Database } from '@flotilla/foundation/storage'
import type { MoveTask } from './move-task.ts'
import type { TaskHistory } from './task-history.ts'
import type { TaskQueue } from './task-queue.ts'
import type { TaskTable } from './task-table.ts'
import type { FleetEvents } from '@flotilla/fleet/events'

/** The maximum number of tasks that one round deletes. */
const forgottenMax = 1000

/**
 * Handles the end of a task or a free lane: starts waiting tasks, and blocks tasks whose needs failed. `sweep`
 * repeats what a crash interrupted.
 */
export function createReleaseTasks(deps: {
  readonly database: Database
  readonly table: TaskTable
  readonly history: TaskHistory
  readonly moveTask: MoveTask
  readonly queue: TaskQueue
  readonly ledger: Pick<RunDelivery, 'notifyRun'>
  readonly fleetEvents: Pick<FleetEvents, 'agentDeleted'>
  readonly workEvents: Pick<WorkEvents, 'taskChanged' | 'runSettled'>
  readonly clock: Clock
}) {
  const { database, table, queue } = deps

  function taskChanged({ id, state, before }: ChangedTask): void {
    if (state === before || isTaskOpen(state)) return
    if (state === 'done') {
      database.afterCommit(() => queue.releaseNeeding(id))
      return
    }
    const ended = table.find(id)
    const summary = `The task needs ${id} "${ended?.title ?? ''}", which is ${state}.`
    for (const task of table.needing(id)) {
      if (task.state === 'blocked') continue
      deps.moveTask(task, {
        action: 'lose',
        actor: 'system',
        words: summary,
        changes: { summary, blocked_by: 'dependency', waits_for: null },
        notify: deps.ledger.notifyRun,
      })
    }
  }

  deps.workEvents.taskChanged.subscribe(taskChanged)
  deps.workEvents.runSettled.subscribe(({ agentId }) => database.afterCommit(() => queue.release(agentId)))
  deps.fleetEvents.agentDeleted.subscribe(deps.history.forgetAgent)

  return {
    /** Repeats interrupted work; called once a minute and when the mesh has started. */
    sweep: (): void => {
      queue.releaseAll()
      const then = deps.clock.now() - taskLimits.retentionMs
      database.transaction(() => {
        for (const id of table.completedBefore(then, forgottenMax)) {
          deps.history.forget(id)
          table.remove(id)
        }
      })
    },
  }
}
