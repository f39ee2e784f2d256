import { answerKinds, answerLimits, thinkingEfforts } from '@flotilla/protocol/answer-settings'
import type { AnswerKind, ThinkingEffort } from '@flotilla/protocol/answer-settings'
import * as z from 'zod'

export { answerKinds, thinkingEfforts }
export type { AnswerKind, ThinkingEffort }

const answer = z.strictObject({
  /** How much the model thinks; left out of calls to a model that does not support the value. */
  thinking: z.enum(thinkingEfforts).optional(),
  /** The maximum length of one answer in tokens, thinking included. */
  max_output_tokens: z
    .number()
    .int()
    .min(answerLimits.outputTokensMin)
    .max(answerLimits.outputTokensMax)
    .optional(),
})
export type AnswerSettings = z.output<typeof answer>

/** Settings of the answers in each kind of run; sub-agents belong to the run of their agent. */
export const answersSchema = z.strictObject({
  chat: answer.optional(),
  task: answer.optional(),
  heartbeat: answer.optional(),
} satisfies Record<AnswerKind, z.ZodType>)
