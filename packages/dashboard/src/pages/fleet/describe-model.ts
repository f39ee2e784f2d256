import type { ModelView } from '@flotilla/protocol/models-api'
import { formatTokens, formatUsd } from '../../data/format.ts'

/** Describes a model in a list: its name, price and context window, or why it cannot be called. Pure. */
export function describeModel({
  id,
  price,
  free_because: free,
  context_window: window,
  problem,
}: Pick<ModelView, 'id' | 'price' | 'free_because' | 'context_window' | 'problem'>): string {
  const cost =
    free !== null
      ? 'free'
      : price === null
        ? 'price unknown'
        : `${formatUsd(price.input_per_mtok)} in, ${formatUsd(price.output_per_mtok)} out per M tokens`
  const parts = [id, problem === null ? cost : 'cannot be called now']
  return [...parts, ...(window === null ? [] : [`${formatTokens(window)} context`])].join(' · ')
}
