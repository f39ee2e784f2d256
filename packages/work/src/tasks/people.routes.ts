import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { taskHumanApi as api, taskHumanEndpoints as endpoints } from '@flotilla/protocol/task-api'
import { idempotencyKeyIn } from '@flotilla/identity/http'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { Tasks } from './tasks.ts'

export function taskPeopleRoutes({ bind }: PeopleSurface, tasks: Tasks): void {
  bind(meshHumanEndpoints.tasks, meshHumanApi.tasks, ({ caller, query: { agent: agentId, ...page } }) => ({
    tasks: tasks.listTasks(caller, { agentId, ...page }),
  }))
  bind(endpoints.task, api.task, ({ caller, params }) => tasks.readTask(caller, params.id))
  bind(endpoints.taskGive, api.taskGive, ({ caller, raw, body, reply }) => {
    const { token_budget: tokenBudget, max_turns: maxTurns, ...task } = body
    const given = tasks.handOff(caller, { ...task, tokenBudget, maxTurns, ...idempotencyKeyIn(raw) })
    void reply.code(201)
    return { task: tasks.readTask(caller, given.task_id).task, note: given.note }
  })
  bind(endpoints.taskManage, api.taskManage, ({ caller, params: { id }, body }) =>
    tasks.manageTask(caller, { taskId: id, ...body }),
  )
  bind(endpoints.taskReview, api.taskReview, ({ caller, params: { id }, body }) =>
    tasks.reviewTask(caller, { taskId: id, ...body }),
  )
}
