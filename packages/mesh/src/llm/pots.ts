import { Problem } from '@flotilla/protocol/problem'
import { nanoFromUsd, usdFromNano } from './money.ts'
import { agentScope, monthOf, runScope } from './spend-table.ts'
import type { SpendTable } from './spend-table.ts'

export type BudgetOf = (agentId: string) => { readonly daily_usd: number; readonly monthly_usd: number }

/** Money that a call is paid from; a call must fit into each of its pots. */
export interface Pot {
  readonly name: 'daily' | 'monthly' | 'run'
  readonly limitNano: number
  readonly spentNano: number
  readonly openNano: number
}

/** Whose money it is. */
export interface Purse {
  readonly agentId: string
  readonly run: { readonly runId: string; readonly budgetUsd: number | null } | null
}

/** As they stand in the sums now; `day` is UTC. */
export function potsOf(
  deps: { readonly spend: SpendTable; readonly budgetOf: BudgetOf },
  { agentId, run }: Purse,
  day: string,
): readonly Pot[] {
  const budget = deps.budgetOf(agentId)
  const pot = (name: Pot['name'], limitUsd: number, where: readonly [string, string]): Pot => ({
    name,
    limitNano: nanoFromUsd(limitUsd),
    ...deps.spend.total(...where),
  })
  const agent = agentScope(agentId)
  const pots = [
    pot('daily', budget.daily_usd, [agent, day]),
    pot('monthly', budget.monthly_usd, [agent, monthOf(day)]),
  ]
  if (run && run.budgetUsd !== null) pots.push(pot('run', run.budgetUsd, [runScope(run.runId), '']))
  return pots
}

/** What is neither spent nor set aside. Pure. */
export function leftIn(pot: Pot): number {
  return pot.limitNano - pot.spentNano - pot.openNano
}

export function tightestPot(pots: readonly Pot[]): Pot {
  return pots.reduce((tightest, pot) => (leftIn(pot) < leftIn(tightest) ? pot : tightest))
}

/** `leftNano` is what is left with what the asker itself has set aside and not used. */
export function exhausted(pot: Pot, leftNano: number, neededNano: number): Problem {
  const left = Math.max(0, leftNano)
  return new Problem('budget-exhausted', {
    detail: `the ${pot.name} budget has ${dollars(left)} USD left and this call may need ${dollars(neededNano)} or more`,
    extra: {
      budget: pot.name,
      limit_usd: usdFromNano(pot.limitNano),
      spent_usd: usdFromNano(pot.spentNano),
      reserved_usd: usdFromNano(pot.openNano),
      left_usd: usdFromNano(left),
      needed_usd: usdFromNano(neededNano),
    },
  })
}

function dollars(nano: number): string {
  return usdFromNano(nano).toFixed(6)
}
