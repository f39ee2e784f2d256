import { Problem } from '@flotilla/protocol/problem'
import { treeTotal } from './budget-limits.ts'
import type { BudgetAccount } from './budget-limits.ts'
import type { SpendTable } from './spend-table.ts'

/**
 * Runs with a cap whose count is remembered, and as many more as have open calls, which stand in no table. Of one that
 * was forgotten the sums know it.
 */
const rememberedMax = 1000

interface Count {
  /** Tokens, open calls included. */
  readonly used: number
  /** Calls that are open. */
  readonly open: number
}

/**
 * How many tokens each capped run and all that work for it have used, open calls included. A prompt counts once its call is over, since what is
 * known of it before is a bound several times too high; so the last call of a run may end above its cap, and none begins
 * there.
 */
interface RunTokens {
  /** Tokens of output that one answer may have: what is wished for, or what is left. Problem `budget-exhausted`. */
  take(run: BudgetAccount['run'], wish: { readonly maxTokens: number; readonly answers: number }): number
  /** The call is over: what it set aside is given back, what it used stays. */
  ended(run: BudgetAccount['run'], tokens: { readonly setAside: number; readonly used: number }): void
}

export function createRunTokens(deps: {
  readonly spend: Pick<SpendTable, 'total'>
  readonly treeOf: (runId: string) => readonly string[]
}): RunTokens {
  /** The one without calls for longest is the first. */
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
    ended(run, { setAside, used }) {
      for (const { runId } of capsOf(run)) {
        const known = counts.get(runId)
        if (known === undefined) continue
        const left = Math.max(0, known.used - setAside + used)
        remember(runId, { used: left, open: Math.max(0, known.open - 1) })
      }
    },
  }
}

/** Its own cap, and those of the runs that it works for. Pure. */
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
    detail: `run ${runId}, with the work that it gave away, has used or set aside ${used} of its ${max} tokens; whoever gave the work set that cap`,
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
