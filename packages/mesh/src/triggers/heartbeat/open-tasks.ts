import type { TaskTable } from '../../tasks/task-table.ts'
import type { OpenTasks } from './probes.ts'

/** As many as a heartbeat names. */
const namedMax = 5

/** Hand-offs to an agent that nobody has closed, from the store that hand-offs are kept in. */
export function createOpenTasks(
  table: Pick<TaskTable, 'openOf' | 'openCount'>,
): (agentId: string) => OpenTasks {
  return (agentId) => ({ count: table.openCount(agentId), newest: table.openOf(agentId, namedMax) })
}
