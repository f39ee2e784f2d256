import { meshAgentApi as api, meshAgentEndpoints as endpoints } from '@flotilla/protocol/mesh-agent-api'
import type { AgentSurface } from '../http/index.ts'
import type { Tasks } from './tasks.ts'

export function taskAgentRoutes({ bind }: AgentSurface, tasks: Tasks): void {
  bind(endpoints.inbox, api.inbox, ({ caller }) => tasks.listInbox(caller))
  const handedOff = { ...api.handOff, needs: () => ({ do: 'route-tasks' }) as const }
  bind(endpoints.handOff, handedOff, ({ caller, body, effect }) => {
    const { key, local } = effect(body)
    const { token_budget: tokenBudget, ...task } = body
    return local(() => tasks.handOff(caller, { ...task, tokenBudget, idempotencyKey: key }))
  })
  bind(endpoints.completeTask, api.completeTask, ({ caller, params: { id }, body, effect }) =>
    effect({ id, body }).local(() => tasks.completeTask(caller, { taskId: id, ...body })),
  )
}
