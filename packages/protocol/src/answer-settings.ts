/** The kinds of runs whose model calls have settings of their own. */
export const answerKinds = ['chat', 'task', 'heartbeat'] as const
export type AnswerKind = (typeof answerKinds)[number]

/** How much a model thinks before it answers, in the words of OpenAI's API. */
export const thinkingEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type ThinkingEffort = (typeof thinkingEfforts)[number]

export const answerLimits = {
  /** The least value of the maximum length of one answer that can be set, in tokens. */
  outputTokensMin: 16,
  /** The largest value of the maximum length of one answer that can be set, in tokens. */
  outputTokensMax: 1_000_000,
} as const
