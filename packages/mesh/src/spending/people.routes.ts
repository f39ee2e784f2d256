import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { moneyApi as api, moneyEndpoints as endpoints } from '@flotilla/protocol/money-api'
import type { PeopleSurface } from '../http/index.ts'
import type { Spending } from './spending.ts'

export function spendingPeopleRoutes(
  { bind }: PeopleSurface,
  { spending, refreshBriefings }: { readonly spending: Spending; readonly refreshBriefings: () => void },
): void {
  const { budgets, costs } = spending
  bind(meshHumanEndpoints.costs, meshHumanApi.costs, ({ caller }) => ({ agents: costs.list(caller) }))
  bind(endpoints.budgets, api.budgets, ({ caller }) => ({ budgets: budgets.list(caller) }))
  bind(endpoints.budgetSet, api.budgetSet, ({ caller, body: { scope, id, ...edit } }) => {
    budgets.set(caller, { scope, id }, edit)
    // SYSTEM.md names the agent's budget.
    if (scope === 'agent') refreshBriefings()
    return budgets.view(caller, { scope, id })
  })
  bind(endpoints.agentProjectSet, api.agentProjectSet, ({ caller, params, body }) => {
    budgets.setAgentProject(caller, params.id, body.project)
    return { agent_id: params.id, project: body.project }
  })
  bind(endpoints.costReport, api.costReport, ({ caller, query }) => spending.report(caller, query))
}
