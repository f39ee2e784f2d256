import { operatorViewApi as api } from '@flotilla/protocol/operator-api'
import { operatorViewEndpoints as endpoints } from '@flotilla/protocol/operator-endpoints'
import type { Caller } from '@flotilla/identity/access'
import type { Surface } from '@flotilla/identity/http'
import type { Tasks } from './tasks.ts'

export function taskOperatorRoutes({ bind }: Surface<Caller>, tasks: Tasks): void {
  bind(endpoints.tasks, api.tasks, ({ caller, query: { agent: agentId, ...page } }) => ({
    tasks: tasks.listTasks(caller, { agentId, ...page }),
  }))
  bind(endpoints.staleTasks, api.staleTasks, ({ caller, query: { hours, agent: agentId, limit } }) => ({
    tasks: tasks.listStaleTasks(caller, { hours, agentId, limit }),
  }))
}
