import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { EventBus } from '../events/event-bus.ts'
import type { Guard } from '../access/action.ts'
import type { Ledger } from '../runs/ledger.ts'
import type { Database } from '../storage/database.ts'
import { createCompleteTask } from '../tasks/complete-task.ts'
import { createHandOff } from '../tasks/hand-off.ts'
import { createListInbox, createListTasks } from '../tasks/list-inbox.ts'
import { createListStaleTasks } from '../tasks/list-stale-tasks.ts'
import type { MoveTask } from '../tasks/move-task.ts'
import type { TaskTable } from '../tasks/task-table.ts'

/** Use cases of tasks. */
export function composeTasks(parts: {
  readonly database: Database
  readonly ledger: Ledger
  readonly table: TaskTable
  readonly moveTask: MoveTask
  readonly events: EventBus
  readonly guard: Guard
  readonly clock: Clock
  readonly newId: NewId
}) {
  return {
    handOff: createHandOff(parts),
    completeTask: createCompleteTask(parts),
    listInbox: createListInbox(parts),
    listTasks: createListTasks(parts),
    listStaleTasks: createListStaleTasks(parts),
  }
}
