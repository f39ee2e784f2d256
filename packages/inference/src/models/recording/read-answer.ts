import { jsonObjectSchema } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { parseFirst, readJsonQuietly } from '@flotilla/foundation/intake'
import { createAnswerFrames } from '../formats/answer/answer-frames.ts'
import { createAnswerReader } from '../formats/answer/answer-reader.ts'
import type { CassetteTurn } from './cassette.ts'

/** An answer as the model wrote it; tool arguments are unparsed text. */
export interface SaidAnswer {
  readonly content: string
  readonly calls: readonly { readonly name: string; readonly arguments: string }[]
}

/**
 * Reads a recorded answer, whole or streamed, as agents do; an unreadable answer gives only its text so far. Pure.
 */
export function readSaidAnswer(text: string): SaidAnswer {
  const frames = createAnswerFrames()
  const reader = createAnswerReader()
  let content = ''
  try {
    for (const frame of [...frames.take(Buffer.from(text)), ...frames.end()])
      content += reader.take(frame).text
    const end = reader.end()
    return {
      content: content + end.text,
      calls: end.calls.map(({ name, arguments: given }) => ({ name, arguments: given })),
    }
  } catch {
    return { content: content + reader.heldBack(), calls: [] }
  }
}

/** Returns the first choice of a whole or streamed answer as a turn; null if it is empty. Pure. */
export function readAnswer(text: string): CassetteTurn | null {
  const draft = readSaidAnswer(text)
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
