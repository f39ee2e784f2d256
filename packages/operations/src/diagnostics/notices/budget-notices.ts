/** The smallest call that an agent makes, in tokens: its system prompt and tools, and a short answer. */
export const smallestCall = { prompt: 4000, answer: 500 } as const

/** One budget, as it was set. */
export interface SetLimit {
  /** The name of the budget in texts for people, such as `the daily budget of scout`. */
  readonly name: string
  readonly usd: number | null
}

/** What the smallest call of the default model costs, in US dollars; null without a model or a known price. */
export type SmallestCost = { readonly model: string; readonly usd: number } | null

/** One sentence for each limit that is below one call: every call of such an agent is refused. Pure. */
export function budgetNotices(limits: readonly SetLimit[], cost: SmallestCost): readonly string[] {
  if (cost === null) return []
  return limits.flatMap(({ name, usd }) =>
    usd === null || usd >= cost.usd
      ? []
      : [
          `${name} is USD ${usd}, and one small call of ${cost.model} (${smallestCall.prompt} tokens of prompt, ${smallestCall.answer} of answer) costs USD ${cost.usd.toFixed(4)}: calls are rejected; raise the budget, or choose a cheaper model`,
        ],
  )
}
