import * as z from 'zod'

/** The kinds of runs whose model calls have settings of their own. */
export const answerKinds = ['chat', 'task', 'heartbeat'] as const
export type AnswerKind = (typeof answerKinds)[number]

/** How much a model thinks before it answers, in the words of OpenAI's API. */
export const thinkingEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type ThinkingEffort = (typeof thinkingEfforts)[number]

const answer = z.strictObject({
  /** How much the model thinks; left out of calls to a model that does not support the value. */
  thinking: z.enum(thinkingEfforts).optional(),
  /** The maximum length of one answer in tokens, thinking included. */
  max_output_tokens: z.number().int().min(16).max(1_000_000).optional(),
})
export type AnswerSettings = z.output<typeof answer>

/** Settings of the answers in each kind of run; sub-agents belong to the run of their agent. */
export const answersSchema = z.strictObject({
  chat: answer.optional(),
  task: answer.optional(),
  heartbeat: answer.optional(),
} satisfies Record<AnswerKind, z.ZodType>)
