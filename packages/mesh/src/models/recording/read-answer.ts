import { jsonObjectSchema } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import * as z from 'zod'
import { parseFirst, readJsonQuietly } from '../../intake/index.ts'
import type { CassetteTurn } from './cassette.ts'

const callSchema = z.looseObject({
  index: z.number().nullish(),
  function: z.looseObject({ name: z.string().nullish(), arguments: z.string().nullish() }).nullish(),
})

const choiceSchema = z.looseObject({
  content: z.string().nullish(),
  tool_calls: z.array(callSchema).nullish(),
})

const answerSchema = z.looseObject({
  choices: z.array(z.looseObject({ message: choiceSchema.nullish(), delta: choiceSchema.nullish() })),
})

interface Draft {
  content: string
  readonly calls: { name: string; arguments: string }[]
}

/** An answer as the model wrote it; arguments are text that may be anything. */
export interface SaidAnswer {
  readonly content: string
  readonly calls: readonly { readonly name: string; readonly arguments: string }[]
}

/** The first choice of a whole or a streamed answer as it was said. Pure. */
export function readSaidAnswer(text: string, isStream: boolean): SaidAnswer {
  const draft: Draft = { content: '', calls: [] }
  for (const data of isStream ? streamedData(text) : [text]) addPart(draft, data)
  // A model may leave numbers out of its row of calls.
  return { ...draft, calls: draft.calls.filter((call) => call !== undefined) }
}

/** What the model said in its first choice, from a whole or a streamed answer; null when it said nothing. Pure. */
export function readAnswer(text: string, isStream: boolean): CassetteTurn | null {
  const draft = readSaidAnswer(text, isStream)
  const calls = draft.calls.flatMap((call) => {
    const value = call.arguments === '' ? {} : readJsonQuietly(call.arguments, jsonLimits.modelAnswer)
    const parsed = parseFirst(jsonObjectSchema, value)
    return call.name !== '' && parsed.success ? [{ name: call.name, arguments: parsed.data }] : []
  })
  if (draft.content === '' && calls.length === 0) return null
  return {
    ...(draft.content === '' ? {} : { content: draft.content }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

function addPart(draft: Draft, data: string): void {
  const parsed = parseFirst(answerSchema, readJsonQuietly(data, jsonLimits.modelAnswer))
  const choice = parsed.success ? parsed.data.choices[0] : undefined
  const said = choice?.message ?? choice?.delta
  if (!said) return
  draft.content += said.content ?? ''
  for (const [position, part] of (said.tool_calls ?? []).entries()) {
    const index = part.index ?? position
    const call = (draft.calls[index] ??= { name: '', arguments: '' })
    call.name += part.function?.name ?? ''
    call.arguments += part.function?.arguments ?? ''
  }
}

function streamedData(text: string): string[] {
  return text
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).trim())
}
