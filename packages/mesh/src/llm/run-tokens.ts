import { Problem } from '@flotilla/protocol/problem'
import type { Purse } from './pots.ts'
import { runScope } from './spend-table.ts'
import type { SpendTable } from './spend-table.ts'

/** Runs with a cap whose count is remembered; of one that was forgotten the sums know it. */
const rememberedMax = 1000

/**
 * How many tokens each capped run has used, open calls included. A prompt counts once its call is over, since what is
 * known of it before is a bound several times too high; so the last call of a run may end above its cap, and none begins
 * there.
 */
export interface RunTokens {
  /** Tokens of output that one answer may have: what is wished for, or what is left. Problem `budget-exhausted`. */
  take(run: Purse['run'], wish: { readonly maxTokens: number; readonly answers: number }): number
  /** The call is over: what it set aside is given back, what it used stays. */
  ended(runId: string | null, tokens: { readonly setAside: number; readonly used: number }): void
}

export function createRunTokens({ spend }: { readonly spend: Pick<SpendTable, 'total'> }): RunTokens {
  const counts = new Map<string, number>()

  function countOf(runId: string): number {
    const known = counts.get(runId)
    if (known !== undefined) return known
    const oldest = counts.size >= rememberedMax ? counts.keys().next().value : undefined
    if (oldest !== undefined) counts.delete(oldest)
    const used = spend.total(runScope(runId), '').tokens
    counts.set(runId, used)
    return used
  }

  return {
    take(run, { maxTokens, answers }) {
      const max = run?.budgetTokens ?? null
      if (!run || max === null) return maxTokens
      const used = countOf(run.runId)
      const allowed = Math.min(maxTokens, Math.floor((max - used) / answers))
      if (allowed < 1) throw tokensExhausted(run.runId, { max, used })
      counts.set(run.runId, used + allowed * answers)
      return allowed
    },
    ended(runId, { setAside, used }) {
      const known = runId === null ? undefined : counts.get(runId)
      if (runId === null || known === undefined) return
      counts.set(runId, Math.max(0, known - setAside + used))
    },
  }
}

function tokensExhausted(runId: string, { max, used }: { max: number; used: number }): Problem {
  return new Problem('budget-exhausted', {
    detail: `run ${runId} has used or set aside ${used} of its ${max} tokens; whoever gave the work set that cap`,
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
