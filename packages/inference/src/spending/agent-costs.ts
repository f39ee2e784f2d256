import type { Clock } from '@flotilla/protocol/clock'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { Metric } from '@flotilla/identity/kernel'
import { leftIn, limitsFor, resetsAt } from './budget-limits.ts'
import type { BudgetAccount, BudgetOf } from './budget-limits.ts'
import { usdFromNano } from './money.ts'
import { agentScope, monthOf, runScope, utcDay } from './sum-scopes.ts'
import type { SpendTable, SpendTotal } from './spend-table.ts'

/** An agent with its budget, US dollars. */
export interface BudgetedAgent {
  readonly id: string
  readonly budget: { readonly dailyUsd: number; readonly monthlyUsd: number }
}

export interface AgentCostsDeps {
  readonly spend: SpendTable
  readonly budgetOf: BudgetOf
  readonly treeOf: (runId: string) => readonly string[]
  readonly agents: { list(): readonly BudgetedAgent[] }
  readonly guard: Guard
  readonly clock: Clock
}

/** The spending of agents by the current sums, and what they can still spend. Days and months are UTC. */
export type AgentCosts = ReturnType<typeof createAgentCosts>

export function createAgentCosts(deps: AgentCostsDeps) {
  const { spend, clock } = deps

  function today(agentId: string): SpendTotal {
    return spend.total(agentScope(agentId), utcDay(clock.now()))
  }

  function thisMonth(agentId: string): SpendTotal {
    return spend.total(agentScope(agentId), monthOf(utcDay(clock.now())))
  }

  return {
    todayUsd: (agentId: string) => usdFromNano(today(agentId).spentNano),
    monthUsd: (agentId: string) => usdFromNano(thisMonth(agentId).spentNano),
    /** The costs of all agents, for people. Problem `denied`. */
    list(caller: Caller) {
      deps.guard(caller, { do: 'view-fleet' })
      return deps.agents.list().map(({ id, budget }) => {
        const month = thisMonth(id)
        return {
          agent_id: id,
          today_usd: usdFromNano(today(id).spentNano),
          month_usd: usdFromNano(month.spentNano),
          budget: { daily_usd: budget.dailyUsd, monthly_usd: budget.monthlyUsd },
          calls: month.calls,
          tokens: month.tokens,
        }
      })
    },
    /** The current cost of a run, without the runs that work for it. */
    ofRun(runId: string) {
      const { spentNano, calls } = spend.total(runScope(runId), '')
      return { spentUsd: usdFromNano(spentNano), calls }
    },
    /** Every limit that applies to the agent's next call, as the agent itself sees it. */
    limitsOf(agentId: string, run: BudgetAccount['run']) {
      const project = deps.budgetOf(agentId).project?.name ?? null
      return limitsFor(deps, { agentId, project, run }, utcDay(clock.now())).map((limit) => ({
        name: limit.name,
        scope: limit.scope,
        limit_usd: usdFromNano(limit.limitNano),
        spent_usd: usdFromNano(limit.spentNano),
        left_usd: usdFromNano(Math.max(0, leftIn(limit))),
        resets_at: resetsAt(limit.period),
      }))
    },
    metrics(): readonly Metric[] {
      const samples = (nanoOf: (total: SpendTotal) => number) =>
        deps.agents.list().map(({ id }) => ({ labels: { agent: id }, value: usdFromNano(nanoOf(today(id))) }))
      return [
        {
          name: 'flotilla_cost_today_usd',
          kind: 'gauge',
          description: 'Spent today (UTC) by agent, US dollars',
          samples: samples(({ spentNano }) => spentNano),
        },
        {
          name: 'flotilla_cost_unconfirmed_today_usd',
          kind: 'gauge',
          description:
            'Part of the spend of today (UTC) whose exact cost is unknown and that is booked at its reservation, by agent, US dollars',
          samples: samples(({ unconfirmedNano }) => unconfirmedNano),
        },
      ]
    },
  }
}
