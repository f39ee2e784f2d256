import type { JsonValue } from '@flotilla/protocol/json-value'
import * as z from 'zod'
import { parseFirst } from '@flotilla/foundation/intake'
import type { CallParameters } from './api-format.ts'
import { badRequest, parseJsonBody } from './json-body.ts'
import { nothingFound } from './prompt/prompt-found.ts'

/** The members of a request that are forwarded to the provider; all others are dropped. */
const forwarded = ['input', 'encoding_format', 'dimensions', 'user'] as const

/** The most texts in one call, as the providers themselves limit it. */
const inputsMax = 2048

const tokens = z.array(z.number().int().min(0)).min(1)

const requestSchema = z.looseObject({
  model: z.string(),
  input: z.union([
    z.string().min(1),
    tokens,
    z.array(z.string().min(1)).min(1).max(inputsMax),
    z.array(tokens).min(1).max(inputsMax),
  ]),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.number().int().min(1).max(65_536).nullish(),
  user: z.string().nullish(),
})

/** Throws the Problem `bad-json` or `bad-request`. Pure. */
export function readEmbeddingsParameters(bytes: Uint8Array): CallParameters {
  const body = parseJsonBody(bytes)
  const parsed = parseFirst(requestSchema, body)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw badRequest(
      issue?.path[0] === 'input'
        ? `input: must be a text, a list of tokens, or a list of at most ${inputsMax} texts or lists of tokens`
        : `${issue?.path.join('.') || 'body'}: ${issue?.message ?? 'not of the expected form'}`,
    )
  }
  const chosen: Record<string, JsonValue> = {}
  for (const name of forwarded) {
    const value = body[name]
    if (value !== undefined && value !== null) chosen[name] = value
  }
  return {
    model: parsed.data.model,
    stream: false,
    wantsUsage: true,
    answers: 1,
    maxTokens: null,
    forwarded: chosen,
    spelling: null,
    prompt: nothingFound(),
  }
}

/** Returns the texts of an input. Problem `bad-request` for tokens, which only their own model can read. Pure. */
export function textInputs(input: JsonValue | undefined): readonly string[] {
  const list = Array.isArray(input) ? input : [input]
  return list.map((entry) => {
    if (typeof entry === 'string') return entry
    throw badRequest('input: this model accepts texts only, not tokens')
  })
}
