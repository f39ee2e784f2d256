import { meshAgentApi as api, meshAgentEndpoints as endpoints } from '@flotilla/protocol/mesh-agent-api'
import type { AgentSurface } from '@flotilla/identity/http'
import type { Tasks } from './tasks.ts'

export function taskAgentRoutes({ bind }: AgentSurface, tasks: Tasks): void {
  bind(endpoints.inbox, api.inbox, ({ caller }) => tasks.listInbox(caller))
  const handedOff = { ...api.handOff, needs: () => ({ do: 'route-tasks' }) as const }
  bind(endpoints.handOff, handedOff, ({ caller, body, effect }) => {
    const { key, local } = effect(body)
    const { token_budget: tokenBudget, max_turns: maxTurns, ...task } = body
    return local(() => tasks.handOff(caller, { ...task, tokenBudget, maxTurns, idempotencyKey: key }))
  })
  bind(endpoints.readTask, api.readTask, ({ caller, params }) => tasks.readTask(caller, params.id))
  bind(endpoints.completeTask, api.completeTask, ({ caller, params: { id }, body, effect }) =>
    effect({ id, body }).local(() => tasks.completeTask(caller, { taskId: id, ...body })),
  )
  bind(endpoints.updateTask, api.updateTask, ({ caller, params: { id }, body, effect }) =>
    effect({ update: id, body }).local(() => tasks.updateTask(caller, { taskId: id, ...body })),
  )
  bind(endpoints.manageTask, api.manageTask, ({ caller, params: { id }, body, effect }) =>
    effect({ manage: id, body }).local(() => tasks.manageTask(caller, { taskId: id, ...body })),
  )
  bind(endpoints.reviewTask, api.reviewTask, ({ caller, params: { id }, body, effect }) =>
    effect({ review: id, body }).local(() => tasks.reviewTask(caller, { taskId: id, ...body })),
  )
}
