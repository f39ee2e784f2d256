import { harnessApi, harnessEndpoints } from '@flotilla/protocol/harness-api'
import type { MeshModule } from '@flotilla/identity/kernel'
import { spendingPeopleRoutes } from './people.routes.ts'
import { createSpending } from './spending.ts'
import type { Spending, SpendingNeeds } from './spending.ts'
import type { InferenceKernel } from '../events/index.ts'

export { createAgentViews } from './agent-views.ts'
export type { AgentViews } from './agent-views.ts'
export { checkSums } from './check-sums.ts'
export { isWithoutCache } from './cache-use.ts'
export type { CacheUse } from './cache-use.ts'
export { bookable, bookedMax } from './ledger-bounds.ts'
export { nanoFromUsd, nanoPerUsd, usdFromNano } from './money.ts'
export type { Reservation } from './reservation.ts'
export type { SetBudget } from './set-budget.ts'
export { differenceWords } from './settle-ledger.ts'
export { utcDay } from './sum-scopes.ts'
export type { SpendClosing } from './spend-table.ts'
export type { UnknownCost } from './unknown-cost.ts'
export type { Spending } from './spending.ts'

/** Money: reserve, settle, refund, report, and the budgets. */
export function spendingModule(kernel: InferenceKernel, needs: SpendingNeeds): MeshModule<Spending> {
  const closing = new AbortController()
  const spending = createSpending(kernel, { ...needs, stopped: closing.signal })
  const refreshBriefings = () => {
    needs.agents.briefing.refreshBriefings().catch((error: unknown) => {
      kernel.log.error(
        { err: error },
        'failed to refresh bootstrap files; agents read their previous budgets',
      )
    })
  }
  // The outcome of a run includes its whole cost, but the cost of its last call may not be written yet.
  kernel.workEvents.costsRequested.subscribe(spending.flush)
  let firstDailyUsd: number | null = null
  return {
    api: spending,
    routes: {
      agent: ({ bind }) =>
        bind(harnessEndpoints.reportTokens, harnessApi.reportTokens, ({ caller, body, effect }) =>
          spending.reportTokens(caller, body, effect(body).local),
        ),
      people: (surface) =>
        spendingPeopleRoutes(surface, {
          spending,
          refreshBriefings,
          noticesOf: kernel.inferenceEvents.setNotices.ask,
        }),
    },
    metrics: spending.metrics,
    start: () => {
      kernel.log.info(
        { leftOpen: spending.found.leftOpen },
        'corrected the sums of spent money from their rows',
      )
      // Set as late as possible before any run starts, because a start that fails earlier would not announce it.
      firstDailyUsd = spending.budgets.giveFirstToFleet()
    },
    notices: () => (firstDailyUsd === null ? [] : [firstBudgetNotice(firstDailyUsd)]),
    maintain: spending.journalSpend,
    close: () => {
      closing.abort(new Error('the mesh stops'))
      spending.flush()
      spending.journalSpend()
    },
  }
}

function firstBudgetNotice(dailyUsd: number): string {
  return `The daily budget of the whole fleet is now USD ${dailyUsd}, because none was set. To change it: flotilla budget fleet --daily USD. To remove it: flotilla budget fleet --daily none`
}
