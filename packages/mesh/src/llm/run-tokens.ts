import { Problem } from '@flotilla/protocol/problem'
import { treeTotal } from './pots.ts'
import type { Purse } from './pots.ts'
import type { SpendTable } from './spend-table.ts'

/** Runs with a cap whose count is remembered; of one that was forgotten the sums know it. */
const rememberedMax = 1000

/**
 * How many tokens each capped run and all that work for it have used, open calls included. A prompt counts once its call is over, since what is
 * known of it before is a bound several times too high; so the last call of a run may end above its cap, and none begins
 * there.
 */
export interface RunTokens {
  /** Tokens of output that one answer may have: what is wished for, or what is left. Problem `budget-exhausted`. */
  take(run: Purse['run'], wish: { readonly maxTokens: number; readonly answers: number }): number
  /** The call is over: what it set aside is given back, what it used stays. */
  ended(run: Purse['run'], tokens: { readonly setAside: number; readonly used: number }): void
}

export function createRunTokens(deps: {
  readonly spend: Pick<SpendTable, 'total'>
  readonly treeOf: (runId: string) => readonly string[]
}): RunTokens {
  const counts = new Map<string, number>()

  function countOf(runId: string): number {
    const known = counts.get(runId)
    if (known !== undefined) return known
    const oldest = counts.size >= rememberedMax ? counts.keys().next().value : undefined
    if (oldest !== undefined) counts.delete(oldest)
    const used = treeTotal(deps, runId).tokens
    counts.set(runId, used)
    return used
  }

  return {
    take(run, { maxTokens, answers }) {
      let allowed = maxTokens
      const caps = capsOf(run)
      for (const { runId, max } of caps) {
        const used = countOf(runId)
        allowed = Math.min(allowed, Math.floor((max - used) / answers))
        if (allowed < 1) throw tokensExhausted(runId, { max, used })
      }
      for (const { runId } of caps) counts.set(runId, countOf(runId) + allowed * answers)
      return allowed
    },
    ended(run, { setAside, used }) {
      for (const { runId } of capsOf(run)) {
        const known = counts.get(runId)
        if (known !== undefined) counts.set(runId, Math.max(0, known - setAside + used))
      }
    },
  }
}

/** Its own cap, and those of the runs that it works for. Pure. */
function capsOf(run: Purse['run']): readonly { readonly runId: string; readonly max: number }[] {
  if (!run) return []
  return [run, ...(run.capsAbove ?? [])].flatMap(({ runId, budgetTokens: max = null }) =>
    max === null ? [] : [{ runId, max }],
  )
}

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
