import { Problem } from '@flotilla/protocol/problem'
import type { LanguageModel } from '../llm/language-model.ts'
import type { LoopState } from '../loop/loop-state.ts'

/** Of one answer of a sub-agent. The mesh sets aside what an answer may cost, and several at once must fit. */
export const answerTokensMax = 8192

/** Whose money a sub-agent spends: what its parent has used, and may use in all. */
export interface ParentPurse {
  readonly state: Pick<LoopState, 'tokens' | 'costUsd'>
  readonly spending: { readonly maxTokens: number | null; readonly maxCostUsd: number | null } | null
}

/**
 * The parent's model for a child: what each answer took is the parent's use too, at once, and what the parent may
 * still spend bounds the next one. Made of a model that is itself such a one, it charges the whole line of parents.
 */
export function chargeParent(model: LanguageModel, { state, spending }: ParentPurse): LanguageModel {
  return {
    answer: async (request, onText, signal) => {
      const { maxTokens, maxCostUsd } = spending ?? { maxTokens: null, maxCostUsd: null }
      const leftTokens = maxTokens === null ? Infinity : maxTokens - state.tokens
      if (leftTokens <= 0) throw spentAll(`${maxTokens} tokens`)
      if (maxCostUsd !== null && state.costUsd >= maxCostUsd) throw spentAll(`${maxCostUsd} USD`)
      const most = Math.min(request.answerTokensMax ?? answerTokensMax, answerTokensMax, leftTokens)
      const answer = await model.answer({ ...request, answerTokensMax: most }, onText, signal)
      state.tokens += answer.tokens
      state.costUsd += answer.costUsd
      return answer
    },
  }
}

function spentAll(what: string): Problem {
  return new Problem('budget-exhausted', { detail: `The work that this is a part of has used its ${what}.` })
}
