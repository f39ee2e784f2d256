import * as z from 'zod/mini'
import { reportedTokensMax } from '@flotilla/protocol/harness-api'
import type { ReportedTokens } from '@flotilla/protocol/harness-api'

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

/** The tokens of its last call that Codex reports, as the size of its context. */
const contextSchema = z.looseObject({
  sessionId: z.string(),
  update: z.looseObject({ sessionUpdate: z.literal('usage_update'), used: count }),
})

/** Reads the size of the context from a notification of the session; null for any other notification. Pure. */
export function readContextTokens(params: unknown, sessionId: string): number | null {
  const parsed = contextSchema.safeParse(params)
  return parsed.success && parsed.data.sessionId === sessionId ? parsed.data.update.used : null
}

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

/** What the prompts of one harness report. */
export interface TokenReports {
  begin(sessionId: string): void
  /** Called with the parameters of each notification, which it passes on. */
  readonly onUpdate: (params: unknown) => void
  answered(answer: unknown): void
  /** Returns what was reported of answered prompts since the last call; null if nothing. */
  take(): ReportedTokens | null
}

/** A prompt whose answer reports no tokens counts as its last call, whose tokens fill the context. */
export function createTokenReports(passOn: (params: unknown) => void): TokenReports {
  let session = ''
  let ofContext: number | null = null
  let reported: ReportedTokens | null = null
  return {
    begin: (sessionId) => {
      session = sessionId
      ofContext = null
    },
    onUpdate: (params) => {
      ofContext = readContextTokens(params, session) ?? ofContext
      passOn(params)
    },
    answered: (answer) => {
      // How many of the last call's tokens are those of its answer is not reported.
      const ofLastCall = ofContext === null ? null : { prompt_tokens: ofContext, completion_tokens: 0 }
      reported = readReportedTokens(answer) ?? ofLastCall
    },
    take: () => {
      const taken = reported
      reported = null
      return taken
    },
  }
}
