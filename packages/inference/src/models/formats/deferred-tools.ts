import { deferredTools } from '@flotilla/protocol/deferred-tools'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject } from '@flotilla/protocol/json-value'

const { definitions, found } = deferredTools

/**
 * The Claude models with tool search, as Anthropic documents them: Sonnet and Opus from 4, Haiku from 4.5, and all
 * Fable and Mythos models. Other servers with the same API run other models, and some fail on an unknown block.
 */
const searchingModels =
  /^claude-(?:(?:sonnet|opus)-(?:[4-9]|\d\d)|haiku-(?:4-[5-9]|[5-9]|\d\d)|fable|mythos)(?:-|$)/

/**
 * Whether a model takes deferred tools and references to them. Only Anthropic's own API does: Amazon's Converse API,
 * OpenRouter and chat completions have no such member. Pure.
 */
export function takesDeferredTools({
  kind,
  model,
}: {
  readonly kind: string
  readonly model: string
}): boolean {
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
