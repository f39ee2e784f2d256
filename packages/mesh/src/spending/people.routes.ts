import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { moneyApi as api, moneyEndpoints as endpoints } from '@flotilla/protocol/money-api'
import type { BudgetView, CostKey } from '@flotilla/protocol/money-api'
import type { Caller } from '../access/caller.ts'
import { createBinder } from '../http/bind-endpoint.ts'
import type { HumanGate } from '../http/gates/people-gate.ts'

/** Use cases about budgets and costs. */
export interface MoneyUseCases {
  budgets(caller: Caller): { budgets: BudgetView[] }
  setBudget(caller: Caller, body: z.output<(typeof api)['budgetSet']['request']>): BudgetView
  setAgentProject(
    caller: Caller,
    agentId: string,
    project: string | null,
  ): { agent_id: string; project: string | null }
  reportCosts(
    caller: Caller,
    asked: { readonly by: CostKey; readonly days: number },
  ): z.input<(typeof api)['costReport']['response']>
}

export function moneyRoutes(
  scope: FastifyInstance,
  { gate, use }: { readonly gate: HumanGate; readonly use: MoneyUseCases },
): void {
  const bind = createBinder(scope)
  // Before the body is read: a page of another origin is told nothing of what it should have sent.
  scope.addHook('onRequest', async (request) => {
    gate(request)
  })
  bind(endpoints.budgets, api.budgets, async ({ raw }) => use.budgets(gate(raw)))
  bind(endpoints.budgetSet, api.budgetSet, async ({ raw, body }) => use.setBudget(gate(raw), body))
  bind(endpoints.agentProjectSet, api.agentProjectSet, async ({ raw, params, body }) =>
    use.setAgentProject(gate(raw), params['id'] ?? '', body.project),
  )
  bind(endpoints.costReport, api.costReport, async ({ raw, query }) => use.reportCosts(gate(raw), query))
}
