import { deferredTools } from '@flotilla/protocol/deferred-tools'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { isOpenAi } from './openai-address.ts'

const { definitions, found } = deferredTools

/**
 * The Claude models with tool search, as Anthropic documents them: Sonnet and Opus from 4, Haiku from 4.5, and all
 * Fable and Mythos models. Other servers with the same API run other models, and some fail on an unknown block.
 */
const searchingModels =
  /^claude-(?:(?:sonnet|opus)-(?:[4-9]|\d\d)|haiku-(?:4-[5-9]|[5-9]|\d\d)|fable|mythos)(?:-|$)/

/** OpenAI documents its tool search for GPT-5.4 and later; models for its chat application have no tools. */
const searchingAtOpenAi = /^gpt-(?:5\.(?:[4-9]|\d\d)|[6-9]|\d\d)(?![\w.-]*chat)/

/** Whether this is a model of OpenAI from GPT-5.4 on. Pure. */
export function isLaterGpt(model: string): boolean {
  return searchingAtOpenAi.test(model)
}

/**
 * Whether a model takes tools that a search in the conversation has found. Only Anthropic's API and OpenAI's Responses
 * API do: Amazon's Converse API, OpenRouter and chat completions have no such member. Pure.
 */
export function takesDeferredTools({
  kind,
  model,
  baseUrl,
}: {
  readonly kind: string
  readonly model: string
  readonly baseUrl: string | null
}): boolean {
  if (kind === 'openai-compatible') return isOpenAi(baseUrl) && isLaterGpt(model)
  return kind === 'anthropic' && searchingModels.test(model)
}

/** Removes the members about found tools; the text of the results describes these tools too. Pure. */
export function withoutDeferredTools(request: JsonObject): JsonObject {
  const { [definitions]: _definitions, ...rest } = request
  const { messages } = request
  const isFound = (message: unknown) => isJsonObject(message) && found in message
  const hasFound = Array.isArray(messages) && messages.some(isFound)
  if (!hasFound) return definitions in request ? rest : request
  return {
    ...rest,
    messages: messages.map((message) => {
      if (!isJsonObject(message) || !isFound(message)) return message
      const { [found]: _found, ...plain } = message
      return plain
    }),
  }
}
