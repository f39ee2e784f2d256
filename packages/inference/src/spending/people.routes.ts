import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import type { BudgetView } from '@flotilla/protocol/money-api'
import { moneyApi as api, moneyEndpoints as endpoints } from '@flotilla/protocol/money-api'
import { nearestName } from '@flotilla/protocol/nearest-name'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { SetThing } from '../events/index.ts'
import type { Spending } from './spending.ts'

export function spendingPeopleRoutes(
  { bind }: PeopleSurface,
  {
    spending,
    refreshBriefings,
    noticesOf,
  }: {
    readonly spending: Spending
    readonly refreshBriefings: () => void
    readonly noticesOf: (set: SetThing) => readonly string[]
  },
): void {
  const { budgets, costs } = spending
  bind(meshHumanEndpoints.costs, meshHumanApi.costs, ({ caller }) => ({ agents: costs.list(caller) }))
  bind(endpoints.budgets, api.budgets, ({ caller }) => ({ budgets: budgets.list(caller) }))
  bind(endpoints.budgetSet, api.budgetSet, ({ caller, body: { scope, id, ...edit } }) => {
    const { after } = budgets.set(caller, { scope, id }, edit)
    // SYSTEM.md names the agent's budget.
    if (scope === 'agent') refreshBriefings()
    const name = scope === 'fleet' ? 'the fleet' : scope === 'project' ? `project ${id}` : id
    const set = { kind: 'budget', name, agentId: scope === 'agent' ? id : null, ...after } as const
    const isLimited = after.dailyUsd !== null || after.monthlyUsd !== null
    const unused = scope === 'project' && isLimited ? unusedProject(id, budgets.list(caller)) : []
    return { ...budgets.view(caller, { scope, id }), notices: [...unused, ...noticesOf(set)] }
  })
  bind(endpoints.agentProjectSet, api.agentProjectSet, ({ caller, params, body }) => {
    budgets.setAgentProject(caller, params.id, body.project)
    return { agent_id: params.id, project: body.project }
  })
  bind(endpoints.costReport, api.costReport, ({ caller, query }) => spending.report(caller, query))
}

/** Warns about a project that no agent is charged to, which a mistyped name is as well. Pure. */
function unusedProject(name: string, budgets: readonly BudgetView[]): readonly string[] {
  const charged = budgets.flatMap(({ project }) => project ?? [])
  if (charged.includes(name)) return []
  const near = nearestName(name, charged)
  const repair = `flotilla budget AGENT --project ${name}`
  return [
    `no agent is charged to the project ${name}; ${near === null ? 'charge one with:' : `did you mean ${near}? If not, charge one with:`} ${repair}`,
  ]
}
