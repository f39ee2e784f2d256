import type { CallParameters } from '../api-format.ts'
import { answerTokensMax } from '../chat-format.ts'
import { badRequest, parseJsonBody, wholeNumber } from '../json-body.ts'
import { nothingFound } from '../prompt/prompt-found.ts'
import { spellingOf } from '../spelling.ts'
import { chosenOfResponse } from './response-form.ts'

/** The member of a Responses API call that bounds its answer. */
export const outputBoundField = 'max_output_tokens'

/** Throws the Problem `bad-json` or `bad-request`. Pure. */
export function readResponsesParameters(bytes: Uint8Array): CallParameters {
  const body = parseJsonBody(bytes)
  const { model } = body
  if (typeof model !== 'string') throw badRequest('model: must be a text')
  const value = wholeNumber(body[outputBoundField], outputBoundField, Number.MAX_SAFE_INTEGER)
  const prompt = nothingFound()
  const forwarded = chosenOfResponse(body, { path: [], found: prompt })
  return {
    model,
    stream: forwarded['stream'] === true,
    wantsUsage: true,
    answers: 1,
    maxTokens: value === null ? null : { field: outputBoundField, value: Math.min(value, answerTokensMax) },
    forwarded,
    spelling: spellingOf(bytes, body),
    prompt,
  }
}
