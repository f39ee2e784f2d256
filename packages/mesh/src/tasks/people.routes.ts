import { meshHumanApi as api, meshHumanEndpoints as endpoints } from '@flotilla/protocol/mesh-human-api'
import type { PeopleSurface } from '../http/index.ts'
import type { Tasks } from './tasks.ts'

export function taskPeopleRoutes({ bind }: PeopleSurface, tasks: Tasks): void {
  bind(endpoints.tasks, api.tasks, ({ caller, query: { agent: agentId, limit } }) => ({
    tasks: tasks.listTasks(caller, { agentId, limit }),
  }))
}
