import { Problem } from '@flotilla/protocol/problem'
import { treeTotal } from './budget-limits.ts'
import type { BudgetAccount } from './budget-limits.ts'
import type { SpendTable } from './spend-table.ts'

/**
 * The number of capped runs whose count is cached, in addition to runs with open calls, which are in no table. The
 * counts of other runs are read from the sums.
 */
const rememberedMax = 1000

interface Count {
  /** Used tokens, including those reserved for open calls. */
  readonly used: number
  /** The number of open calls. */
  readonly open: number
}

/**
 * The tokens that each capped run and all its descendants have used, open calls included. A prompt counts only after
 * its call has ended, because its estimate before is several times too high. So the last call of a run may exceed the
 * cap; no later call starts.
 */
interface RunTokens {
  /** Returns the maximum output tokens of one answer: as requested, or what is left. Problem `budget-exhausted`. */
  take(run: BudgetAccount['run'], wish: { readonly maxTokens: number; readonly answers: number }): number
  /** Called after a call has ended: returns its reserved tokens and counts the used ones. */
  ended(run: BudgetAccount['run'], tokens: { readonly setAside: number; readonly used: number }): void
  /** Counts tokens of calls for which nothing was reserved. */
  reported(run: BudgetAccount['run'], used: number): void
}

export function createRunTokens(deps: {
  readonly spend: Pick<SpendTable, 'total'>
  readonly treeOf: (runId: string) => readonly string[]
}): RunTokens {
  /** Least recently used first. */
  const counts = new Map<string, Count>()

  function remember(runId: string, count: Count): void {
    counts.delete(runId)
    counts.set(runId, count)
  }

  function makeRoom(): void {
    for (const [runId, { open }] of counts) {
      if (counts.size < rememberedMax) return
      if (open === 0) counts.delete(runId)
    }
  }

  function countOf(runId: string): Count {
    const known = counts.get(runId)
    if (known !== undefined) return known
    makeRoom()
    const count = { used: treeTotal(deps, runId).tokens, open: 0 }
    counts.set(runId, count)
    return count
  }

  function change(run: BudgetAccount['run'], more: Count): void {
    for (const { runId } of capsOf(run)) {
      const known = counts.get(runId)
      if (known === undefined) continue
      const [used, open] = [known.used + more.used, known.open + more.open]
      remember(runId, { used: Math.max(0, used), open: Math.max(0, open) })
    }
  }

  return {
    take(run, { maxTokens, answers }) {
      let allowed = maxTokens
      const caps = capsOf(run)
      for (const { runId, max } of caps) {
        const { used } = countOf(runId)
        allowed = Math.min(allowed, Math.floor((max - used) / answers))
        if (allowed < 1) throw tokensExhausted(runId, { max, used })
      }
      for (const { runId } of caps) {
        const { used, open } = countOf(runId)
        remember(runId, { used: used + allowed * answers, open: open + 1 })
      }
      return allowed
    },
    ended: (run, { setAside, used }) => change(run, { used: used - setAside, open: -1 }),
    reported: (run, used) => change(run, { used, open: 0 }),
  }
}

/** Returns the caps of the run and of the runs that it works for. Pure. */
function capsOf(run: BudgetAccount['run']): readonly { readonly runId: string; readonly max: number }[] {
  if (!run) return none
  const { runId, budgetTokens, capsAbove } = run
  const isCapped = budgetTokens !== null && budgetTokens !== undefined
  if (capsAbove === undefined) return isCapped ? [{ runId, max: budgetTokens }] : none
  return [run, ...capsAbove].flatMap(({ runId, budgetTokens: max = null }) =>
    max === null ? [] : [{ runId, max }],
  )
}
const none = [] as const

function tokensExhausted(runId: string, { max, used }: { max: number; used: number }): Problem {
  return new Problem('budget-exhausted', {
    detail: `run ${runId} and the work that it handed off have used or reserved ${used} of ${max} tokens; the giver of the task set this limit`,
    extra: {
      budget: 'run-tokens',
      scope: 'run',
      scope_id: runId,
      period: '',
      limit_tokens: max,
      tokens: used,
      resets_at: null,
    },
  })
}
