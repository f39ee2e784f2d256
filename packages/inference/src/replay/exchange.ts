import { chatCompletionRequestSchema } from '@flotilla/protocol/llm-exchange'
import type { ChatMessage } from '@flotilla/protocol/llm-exchange'
import type { JsonObject } from '@flotilla/protocol/json-value'
import * as z from 'zod'
import type { Clean, Pieces } from './in-pieces.ts'

/** The parts of a request that the record stores: texts, calls and results; a picture only as a note. Pure. */

const callSchema = z.strictObject({ id: z.string(), name: z.string(), arguments: z.string() })

export const keptMessageSchema = z.strictObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string(),
  calls: z.array(callSchema).optional(),
  call_id: z.string().optional(),
})
export type KeptMessage = z.output<typeof keptMessageSchema>

export const keptAnswerSchema = z.strictObject({
  content: z.string(),
  calls: z.array(z.strictObject({ name: z.string(), arguments: z.string() })),
})
export type KeptAnswer = z.output<typeof keptAnswerSchema>

/** One question to a model and its answer. */
export interface Exchange {
  readonly number: number
  readonly turn: number
  readonly at: number
  readonly purpose: string
  readonly model: string
  readonly messages: readonly KeptMessage[]
  /** Names of the offered tools, each with a short digest of its definition. */
  readonly tools: Readonly<Record<string, string>>
  readonly answer: KeptAnswer
}

const toolCallsSchema = z.array(
  z.looseObject({
    id: z.string().nullish(),
    function: z.looseObject({ name: z.string().nullish(), arguments: z.string().nullish() }).nullish(),
  }),
)

/** Returns the conversation in a request of the chat form. */
export function keptMessages(parameters: JsonObject): KeptMessage[] {
  const parsed = chatCompletionRequestSchema.safeParse({ ...parameters, model: 'any' })
  return parsed.success ? parsed.data.messages.map(keptMessage) : []
}

function keptMessage(message: ChatMessage): KeptMessage {
  const content = textOf(message)
  if (message.role === 'tool') return { role: 'tool', content, call_id: stringIn(message, 'tool_call_id') }
  if (message.role === 'assistant') {
    const made = toolCallsSchema.safeParse(Reflect.get(message, 'tool_calls') ?? [])
    const calls = made.success
      ? made.data.map((call) => ({
          id: call.id ?? '',
          name: call.function?.name ?? '',
          arguments: call.function?.arguments ?? '',
        }))
      : []
    return { role: 'assistant', content, ...(calls.length === 0 ? {} : { calls }) }
  }
  return { role: message.role === 'user' ? 'user' : 'system', content }
}

function stringIn(message: ChatMessage, field: string): string {
  const value: unknown = Reflect.get(message, field)
  return typeof value === 'string' ? value : ''
}

function textOf(message: ChatMessage): string {
  const content = message.content ?? ''
  if (typeof content === 'string') return content
  return content
    .map((part) => (typeof part['text'] === 'string' ? part['text'] : `[${part['type']}]`))
    .join('\n')
}

/** Returns a recorded message or answer without secrets. */
export function cleaned<T extends KeptMessage | KeptAnswer>(message: T, clean: (text: string) => string): T {
  const calls = message.calls?.map((call) => ({ ...call, arguments: clean(call.arguments) }))
  return { ...message, content: clean(message.content), ...(calls ? { calls } : {}) }
}

/** Does the same as `cleaned` for a message or answer of any length, piece by piece. */
export function* cleanedInPieces<T extends KeptMessage | KeptAnswer>(message: T, clean: Clean): Pieces<T> {
  const cleanedTexts = new Map<string, string>()
  for (const text of [message.content, ...(message.calls ?? []).map((call) => call.arguments)]) {
    cleanedTexts.set(text, yield* clean(text))
  }
  yield 1
  return cleaned(message, (text) => cleanedTexts.get(text) ?? '')
}
