import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { CallParameters, NamedByPath } from '../api-format.ts'
import { answerTokensMax } from '../chat-format.ts'
import { badRequest, parseJsonBody, wholeNumber } from '../json-body.ts'
import { nothingFound } from '../prompt/prompt-found.ts'
import { spellingOf } from '../spelling.ts'
import { chosenOfContents } from './contents-form.ts'

/**
 * The member in which the mesh forwards the bound of an answer. The client names it within `generationConfig`, but the
 * mesh adds it to the outermost object, as for all forms.
 */
export const contentsBoundField = 'maxOutputTokens'

/** Throws the Problem `bad-json` or `bad-request`. Pure. */
export function readContentsParameters(bytes: Uint8Array, { model, stream }: NamedByPath): CallParameters {
  const body = parseJsonBody(bytes)
  const prompt = nothingFound()
  const chosen = chosenOfContents(body, { path: [], found: prompt })
  const { generationConfig } = chosen
  const { [contentsBoundField]: bound, ...config } = isJsonObject(generationConfig) ? generationConfig : {}
  const value = wholeNumber(bound, `generationConfig.${contentsBoundField}`, Number.MAX_SAFE_INTEGER)
  return {
    model,
    stream,
    wantsUsage: true,
    answers: 1,
    maxTokens: value === null ? null : { field: contentsBoundField, value: Math.min(value, answerTokensMax) },
    forwarded: {
      ...chosen,
      ...(value === null ? {} : { generationConfig: config }),
      ...(stream ? { stream } : {}),
    },
    spelling: spellingOf(bytes, body),
    prompt,
  }
}

/** Reads a token count request, which has the call itself or its contents. Throws the Problem `bad-request`. Pure. */
export function readCountOfContents(
  bytes: Uint8Array,
  { model }: NamedByPath,
): Pick<CallParameters, 'model' | 'forwarded' | 'prompt'> {
  const body = parseJsonBody(bytes)
  const whole: JsonObject = isJsonObject(body['generateContentRequest'])
    ? body['generateContentRequest']
    : body
  const prompt = nothingFound()
  return { model, forwarded: chosenOfContents(whole, { path: [], found: prompt }), prompt }
}

const named = /^(.+):(generateContent|streamGenerateContent|countTokens)$/

/** Reads the model and the method from the end of a path. Throws the Problem `surface-not-offered`. Pure. */
export function methodOfPath(path: string): {
  readonly model: string
  readonly method: 'generateContent' | 'streamGenerateContent' | 'countTokens'
} | null {
  const [, model, method] = named.exec(path) ?? []
  if (model === undefined) return null
  if (method === 'generateContent' || method === 'streamGenerateContent' || method === 'countTokens')
    return { model, method }
  return null
}

/** Throws the Problem `bad-request` for a stream in another form than server-sent events. Pure. */
export function requireEvents(query: unknown): void {
  const alt = isJsonObject(query) ? query['alt'] : undefined
  if (alt !== 'sse') throw badRequest('alt: a stream is offered as server-sent events only; add ?alt=sse')
}
