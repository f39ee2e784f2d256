import * as z from 'zod/mini'
import { reportedTokensMax } from '@flotilla/protocol/harness-api'

/** All tokens of one prompt, as the harness reports them. */
export interface ReportedTokens {
  readonly prompt_tokens: number
  readonly completion_tokens: number
}

const count = z.int().check(z.minimum(0), z.maximum(reportedTokensMax))
const optionalCount = z._default(z.nullish(count), 0)
/** `usage` of the Agent Client Protocol, which is not part of its stable version. The total includes all kinds. */
const usageSchema = z.looseObject({
  usage: z.looseObject({ totalTokens: count, outputTokens: count, thoughtTokens: optionalCount }),
})
/** Gemini CLI reports tokens in the extension field alone. */
const quotaSchema = z.looseObject({
  _meta: z.looseObject({
    quota: z.looseObject({
      token_count: z.looseObject({ input_tokens: count, output_tokens: count }),
    }),
  }),
})

/** Reads the tokens from the answer to a prompt; null without whole numbers within the bounds. Pure. */
export function readReportedTokens(answer: unknown): ReportedTokens | null {
  const standard = usageSchema.safeParse(answer)
  if (standard.success) {
    const { totalTokens, outputTokens, thoughtTokens } = standard.data.usage
    const completion = Math.min(totalTokens, outputTokens + (thoughtTokens ?? 0))
    return { prompt_tokens: totalTokens - completion, completion_tokens: completion }
  }
  const quota = quotaSchema.safeParse(answer)
  if (!quota.success) return null
  const { input_tokens: input, output_tokens: output } = quota.data._meta.quota.token_count
  return { prompt_tokens: input, completion_tokens: output }
}
