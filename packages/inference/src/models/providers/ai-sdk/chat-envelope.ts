import type { LanguageModelV4FinishReason, LanguageModelV4Usage } from '@ai-sdk/provider'
import { Problem } from '@flotilla/protocol/problem'
import { endOf } from '../../formats/answer/end-reasons.ts'

const finishReasons = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
  other: 'stop',
} as const

/** Converts a finish reason. Throws the Problem `upstream-failed` if it is an error of the provider. Pure. */
export function finishReasonOf(reason: LanguageModelV4FinishReason, hasCalls: boolean): string {
  if (reason.unified === 'error') {
    const detail = `the model ended its answer with ${reason.raw ?? 'an error'}`
    throw new Problem('upstream-failed', { detail })
  }
  const hasNoReason = reason.unified === 'other' && reason.raw === undefined
  if (reason.unified === 'interrupted' || hasNoReason) {
    throw new Problem('upstream-failed', { detail: 'the model ended its answer early' })
  }
  // The package reports as `other` every reason that it does not know. Throws for those that are errors.
  const known = reason.unified === 'other' && reason.raw !== undefined ? endOf(reason.raw) : null
  const end = known ?? finishReasons[reason.unified]
  // Some providers report `stop` also for an answer with tool calls.
  return hasCalls && end === 'stop' ? 'tool_calls' : end
}

/** Converts a usage of the AI SDK to that of a chat completion. Pure. */
export function chatUsageOf(usage: LanguageModelV4Usage): object {
  const { inputTokens: input, outputTokens: output } = usage
  const prompt = Math.max(
    input.total ?? 0,
    (input.noCache ?? 0) + (input.cacheRead ?? 0) + (input.cacheWrite ?? 0),
  )
  const completion = Math.max(output.total ?? 0, (output.text ?? 0) + (output.reasoning ?? 0))
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: input.cacheRead ?? 0,
      ...(input.cacheWrite ? { cache_write_tokens: input.cacheWrite } : {}),
    },
    completion_tokens_details: { reasoning_tokens: output.reasoning ?? 0 },
  }
}

/** Whether the provider reported a usage. */
export function tellsUsage(usage: LanguageModelV4Usage): boolean {
  return usage.inputTokens.total !== undefined || usage.outputTokens.total !== undefined
}
