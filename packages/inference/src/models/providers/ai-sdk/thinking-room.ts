import type { SdkChatRequest } from './chat-request.ts'
import type { SdkKind } from './sdk-rules.ts'

type Effort = NonNullable<SdkChatRequest['reasoning_effort']>

/** The thinking that a call may do, and the tokens left for its answer. */
export interface ThinkingRoom {
  readonly maxOutputTokens: number | null
  /** Tokens of thinking, for providers that accept a number. */
  readonly budget: number | null
  /** A reasoning effort, whose meaning the package or the model decides. */
  readonly effort: Effort | null
}

/** The smallest thinking budget that Anthropic's models accept, tokens. */
const budgetMinTokens = 1024
/** The fewest tokens that thinking must leave for the answer. */
const answerMinTokens = 256

const shares: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.9,
  max: 0.95,
}

/**
 * Thinking costs as much as the answer, so both must fit into the one bound that the reservation covers. Packages
 * that add the thinking budget to the bound get the bound without it. Pure.
 */
export function thinkingRoom(
  requested: {
    readonly bound: number | null
    readonly budget: number | null
    readonly effort: Effort | null
    readonly isOff: boolean
  },
  provider: { readonly kind: SdkKind; readonly thinksByEffort: boolean },
): ThinkingRoom {
  const { bound, effort } = requested
  if (requested.isOff) return { maxOutputTokens: bound, budget: null, effort: 'none' }
  const statedBudget = requested.budget
  if (statedBudget === null && (effort === null || effort === 'none')) {
    return { maxOutputTokens: bound, budget: null, effort }
  }
  if (provider.kind === 'google')
    return { maxOutputTokens: bound, budget: statedBudget, effort: statedBudget === null ? effort : null }
  if (provider.thinksByEffort || provider.kind === 'mistral' || provider.kind === 'azure') {
    return { maxOutputTokens: bound, budget: null, effort: effort ?? 'medium' }
  }
  if (bound === null)
    return { maxOutputTokens: null, budget: statedBudget, effort: statedBudget === null ? effort : null }
  const share = statedBudget ?? Math.round(bound * shares[effort ?? 'medium'])
  const budget = Math.min(Math.max(share, budgetMinTokens), bound - answerMinTokens)
  if (budget < budgetMinTokens) return { maxOutputTokens: bound, budget: null, effort: null }
  const isAdded = provider.kind === 'anthropic' || provider.kind === 'bedrock'
  return { maxOutputTokens: isAdded ? bound - budget : bound, budget, effort: null }
}
