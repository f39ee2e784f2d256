import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { CallParameters } from './api-format.ts'
import { badRequest, parseJsonBody, wholeNumber } from './json-body.ts'
import { answerTokensMax } from './chat-format.ts'
import { chosenOfMessages } from './prompt/message-form.ts'
import { nothingFound } from './prompt/prompt-found.ts'
import { spellingOf } from './spelling.ts'

/** Beta features that only change the form of a call; all other beta names are dropped. */
const betasLetThrough: readonly RegExp[] = [
  /^prompt-caching-/,
  /^extended-cache-ttl-/,
  /^interleaved-thinking-/,
  /^fine-grained-tool-streaming-/,
  /^token-efficient-tools-/,
  /^structured-outputs-/,
  /^computer-use-/,
  /^effort-/,
]

/** The smallest thinking budget that the Messages API accepts, tokens. */
const thinkingMinTokens = 1024

/** Throws the Problem `bad-json` or `bad-request`. Pure. */
export function readMessagesParameters(bytes: Uint8Array, betas: readonly string[]): CallParameters {
  const { body, model } = parse(bytes)
  const value = wholeNumber(body['max_tokens'], 'max_tokens', Number.MAX_SAFE_INTEGER)
  if (value === null) throw badRequest('max_tokens: must be set to a whole number')
  const prompt = nothingFound()
  const forwarded = chosenOfMessages(body, { path: [], found: prompt })
  return {
    model,
    stream: forwarded['stream'] === true,
    wantsUsage: true,
    answers: 1,
    maxTokens: { field: 'max_tokens', value: Math.min(value, answerTokensMax) },
    forwarded,
    spelling: spellingOf(bytes, body),
    prompt,
    fit: (whole, maxTokens) => fitThinking(whole, value, maxTokens),
    betas: betas.filter((name) => betasLetThrough.some((pattern) => pattern.test(name))),
  }
}

/** Reads a token count request, which has no answer bound. Throws the Problem `bad-json` or `bad-request`. Pure. */
export function readCountParameters(
  bytes: Uint8Array,
): Pick<CallParameters, 'model' | 'forwarded' | 'prompt'> {
  const { body, model } = parse(bytes)
  const prompt = nothingFound()
  return { model, forwarded: chosenOfMessages(body, { path: [], found: prompt }, 'count'), prompt }
}

function parse(bytes: Uint8Array): { readonly body: JsonObject; readonly model: string } {
  const body = parseJsonBody(bytes)
  const { model } = body
  if (typeof model !== 'string') throw badRequest('model: a text is expected')
  return { body, model }
}

/** Reduces or drops thinking if a nearly exhausted budget leaves less room for thinking than was planned. */
function fitThinking(chosen: JsonObject, requested: number, maxTokens: number): JsonObject {
  const thought = chosen['thinking']
  const budget = isJsonObject(thought) ? thought['budget_tokens'] : null
  if (!isJsonObject(thought) || typeof budget !== 'number' || budget < maxTokens) return chosen
  // If the client's own budget exceeds its own bound, the provider reports the error.
  if (budget >= requested) return chosen
  const { thinking: _thinking, ...rest } = chosen
  if (maxTokens <= thinkingMinTokens) return rest
  return { ...rest, thinking: { ...thought, budget_tokens: maxTokens - 1 } }
}
