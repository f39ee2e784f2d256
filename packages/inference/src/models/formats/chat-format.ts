import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { ApiFormat, CallParameters } from './api-format.ts'
import { saysNothing } from './empty-answer.ts'
import { badRequest, parseJsonBody, wholeNumber } from './json-body.ts'
import { errorEvent, withOpenAiError } from './openai-error.ts'
import { chosenOfChat } from './prompt/chat-form.ts'
import { nothingFound } from './prompt/prompt-found.ts'
import { spellingOf } from './spelling.ts'
import { chatStream } from './sse-parser.ts'
import { usageFrom } from './usage.ts'

/** `/v1/chat/completions`. */
export const chatFormat: ApiFormat = {
  form: 'chat',
  read: readParameters,
  hasOutput: true,
  usageOf: (answer) => usageFrom(answer['usage']),
  saysNothing,
  usageWithCost: (answer, costUsd) => ({ ...(answer['usage'] as object), cost_usd: costUsd }),
  createStreamForm: () => chatStream,
  wholeAsEvents: (body) => Buffer.concat([Buffer.from('data: '), body, Buffer.from('\n\ndata: [DONE]\n\n')]),
  withErrorBody: withOpenAiError,
  errorEvent,
}

/** The maximum number of alternative answers (`n`) of one call; each may cost as much as the first. */
const answersMax = 16

/** The highest token bound of one answer, far more than any model writes; higher bounds are lowered to it. */
export const answerTokensMax = 10_000_000

/** Throws the Problem `bad-json` or `bad-request`. Pure. */
export function readParameters(bytes: Uint8Array): CallParameters {
  const body = parseJsonBody(bytes)
  const { model } = body
  if (typeof model !== 'string') throw badRequest('model: must be a text')
  const prompt = nothingFound()
  const chosen = chosenOfChat(body, { path: [], found: prompt })
  const stream = chosen['stream'] === true
  const options = chosen['stream_options']
  delete chosen['stream_options']
  if (stream) chosen['stream_options'] = { include_usage: true }
  return {
    model,
    stream,
    wantsUsage: isJsonObject(options) && options['include_usage'] === true,
    answers: wholeNumber(body['n'], 'n', answersMax) ?? 1,
    maxTokens: boundOf(body),
    forwarded: chosen,
    spelling: spellingOf(bytes, body),
    prompt,
  }
}

/** Returns the token bound. The newer name wins over the older, because models that know it reject the older. */
function boundOf(body: JsonObject): CallParameters['maxTokens'] {
  for (const field of ['max_completion_tokens', 'max_tokens'] as const) {
    const value = wholeNumber(body[field], field, Number.MAX_SAFE_INTEGER)
    if (value !== null) return { field, value: Math.min(value, answerTokensMax) }
  }
  return null
}
