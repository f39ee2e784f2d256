import { jsonLimits } from '@flotilla/protocol/limits'
import * as z from 'zod'
import { parseFirst, readJsonQuietly } from '@flotilla/foundation/intake'
import { isRecord } from '../empty-answer.ts'

/**
 * The schema of chat completions as providers really write them. A value of any other type in these places makes the
 * answer unreadable. The list names the types that differ from OpenAI's, and how each is converted. Null is the same
 * as a missing member.
 *
 * - texts: texts; numbers and booleans as they are printed
 * - `content`, thinking: a text, one part, or a list of texts and parts
 * - a part: its words in `text`, else in `content`
 * - `tool_calls`: a list, one call, calls by their index or id, an object with the list, or a JSON text of calls; null
 *   entries are skipped
 * - `arguments`: a text; any other value as its JSON text; other names are in `call-pieces.ts`
 * - `function`, `tool`: an object, its JSON text, or the name alone
 * - `content`, `tool_calls`: a list of lists is one list
 * - `index`: a whole number, also as a text; anything else is no index
 * - `finish_reason`: a text, a list with one, or an object with `type`, `reason` or `name`; also `finishReason`, `stop_reason`
 * - `choices`: a list, one choice, or choices by their index
 * - a list of calls: false, an empty text and the text `null` are the same as none
 * - `delta` and `message`: an object, its content as a text, or an empty list, which PHP prints for an empty object
 * - a choice: its own calls and its own thinking count for a message without them
 * - a call: `function` or `custom`, or `name` and `arguments` beside the id
 * - refusal, thinking: `false` is the same as none; a refusal also as an object with its words
 * - ids and models: any other value is the same as none
 * - a choice: `delta`, `message`, or `text`; also `message` at the top, as Ollama's own API has it
 */

/** A number beyond the precision of a float, as its original digits. */
const written = z.object({ rawJSON: z.string() }).transform(({ rawJSON }) => rawJSON)

const textSchema = z
  .union([z.string(), z.number().transform(String), z.boolean().transform(String), written])
  .nullish()
  .transform((value) => value ?? '')

/** An id that cannot be read counts as missing: the mesh gives each call an id of its own. */
const idSchema = textSchema.catch('')

/** The words of a refusal; some gateways write them as an object. */
const refusalText = z.union([
  textSchema,
  z
    .looseObject({ message: textSchema, text: textSchema, reason: textSchema })
    .transform(({ message, text, reason }) => message || text || reason),
])

const place = z
  .union([
    z.int().min(0),
    z
      .string()
      .regex(/^\d{1,9}$/)
      .transform(Number),
  ])
  .nullish()
  .catch(null)
  .transform((value) => value ?? null)

const argumentsText = z
  .unknown()
  .optional()
  .transform((value) =>
    value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value),
  )

const functionMembers = z.looseObject({
  index: place,
  name: textSchema,
  arguments: argumentsText,
  parameters: argumentsText,
  input: argumentsText,
})

export type WireFunction = z.output<typeof functionMembers>

/** A function as an object; some servers write it as JSON text, others only its name, with the arguments beside it. */
const functionSchema = z.preprocess((value) => {
  if (typeof value !== 'string') return value
  const inner = readJsonQuietly(value, jsonLimits.modelAnswer)
  return isRecord(inner) ? inner : { name: value }
}, functionMembers)

const callSchema = z.looseObject({
  index: place,
  id: idSchema,
  name: textSchema,
  arguments: argumentsText,
  parameters: argumentsText,
  input: argumentsText,
  function: functionSchema.nullish(),
  custom: functionSchema.nullish().catch(null),
  tool: functionSchema.nullish().catch(null),
  extra_content: z
    .looseObject({ google: z.looseObject({ thought_signature: textSchema }).nullish() })
    .nullish()
    .catch(null),
})
export type WireCall = z.output<typeof callSchema>

/** Returns a call in any known form; null if it cannot be read. Pure. */
export function wireCallOf(value: unknown): WireCall | null {
  const parsed = parseFirst(callSchema, value)
  return parsed.success ? parsed.data : null
}

const innerPart = z.union([z.string().transform((text) => ({ text })), z.looseObject({ text: textSchema })])

/** A tool call as a content part, as in Anthropic's messages or the Responses API. */
const callPart = callSchema.extend({ type: z.enum(['tool_use', 'tool_call', 'function_call', 'toolCall']) })

const joinedTexts = z.array(innerPart).transform((parts) => parts.map(({ text }) => text).join(''))

const partSchema = z.union([
  z.string().transform((text) => plain(text)),
  callPart.transform((call) => ({ ...plain(''), type: 'tool_use', call })),
  z
    .looseObject({
      type: textSchema,
      text: z
        .union([textSchema, z.looseObject({ value: textSchema }).transform(({ value }) => value)])
        .optional(),
      content: z.union([textSchema, z.unknown().transform(() => '')]).optional(),
      thinking: z.union([textSchema, joinedTexts]).optional(),
      reasoning: z.union([textSchema, z.unknown().transform(() => '')]).optional(),
      summary: z.union([textSchema, joinedTexts, z.unknown().transform(() => '')]).optional(),
      refusal: refusalText.optional(),
    })
    .transform((part) => {
      const { type, content = '', thinking = '', reasoning = '', summary = '', refusal = '' } = part
      const text = (part.text ?? '') || (knownParts.includes(type) ? content : '')
      const thought = thinking || reasoning || summary
      const isThought = type === 'thinking' || type === 'reasoning'
      return {
        type,
        text: isThought ? '' : text,
        thinking: isThought && thought === '' ? text : thought,
        refusal,
        call: null as WireCall | null,
        known: knownParts.includes(type) && saying.some((name) => part[name] !== undefined),
      }
    }),
])
export interface SaidPart {
  readonly type: string
  readonly text: string
  readonly thinking: string
  readonly refusal: string
  readonly call: WireCall | null
  readonly known: boolean
}

function plain(text: string): SaidPart {
  return { type: 'text', text, thinking: '', refusal: '', call: null, known: true }
}

export function plainParts(text: string): SaidPart[] {
  return text === '' ? [] : [plain(text)]
}

/** A part without any of these members has no content that the mesh can read. */
const saying = ['text', 'content', 'thinking', 'reasoning', 'summary', 'refusal'] as const
const knownParts: readonly string[] = ['', 'text', 'output_text', 'thinking', 'reasoning', 'refusal']

/** Returns a list of lists as one list, and any other value unchanged. */
function flattened(value: unknown): unknown {
  return Array.isArray(value) && value.some(Array.isArray) ? value.flat() : value
}

const parts = z
  .union([
    // Most contents are strings, so the schema of a string is tried first.
    z.string().transform(plainParts),
    z.number().transform((value) => [plain(String(value))]),
    z.boolean().transform((value) => [plain(String(value))]),
    z.preprocess(
      flattened,
      z.array(partSchema.nullable()).transform((list) => list.filter((part) => part !== null)),
    ),
    partSchema.transform((part) => [part]),
  ])
  .nullish()
  .transform((list) => list ?? [])

/** Members in which some gateways put the list of calls, in place of the list itself. */
const listNames = ['calls', 'tool_calls', 'toolCalls', 'function_calls', 'items', 'list', 'data'] as const
/** Members of a call itself. */
const callNames = ['name', 'function', 'custom', 'tool', 'arguments', 'input', 'parameters', 'type', 'id']

/** Returns the list of calls in an object with one list, or with the calls by their ids; else the value. */
function unlisted(value: unknown): unknown {
  if (!isRecord(value) || callNames.some((name) => name in value)) return value
  const name = listNames.find((one) => isFilled(value[one]))
  if (name !== undefined) return value[name]
  const entries = Object.entries(value)
  const areById = entries.length > 0 && entries.every(([id, call]) => !/^\d{1,4}$/.test(id) && isCall(call))
  return areById ? entries.map(([id, call]) => ({ id, ...(isRecord(call) ? call : {}) })) : value
}

function isCall(value: unknown): boolean {
  return isRecord(value) && ('function' in value || typeof value['name'] === 'string')
}

const callsOfList = z.union([
  z.preprocess(
    flattened,
    z.array(callSchema.nullable()).transform((list) => list.filter((call) => call !== null)),
  ),
  z.record(z.string().regex(/^\d{1,4}$/), callSchema).transform(byIndex),
  callSchema.transform((call) => [call]),
])
const callList = z.preprocess(unlisted, callsOfList)

function byIndex(calls: Readonly<Record<string, WireCall>>): WireCall[] {
  return Object.entries(calls).map(([index, call]) => ({ ...call, index: call.index ?? Number(index) }))
}

const calls = z
  .union([
    callList,
    z.enum(['', 'null', 'None']).transform(() => []),
    z.literal(false).transform(() => []),
    // The list of calls as a JSON string: some servers encode the list twice.
    z
      .string()
      .transform((text): unknown => readJsonQuietly(text, jsonLimits.modelAnswer))
      .pipe(callList),
  ])
  .nullish()
  .transform((list) => list ?? [])

/** What servers write in place of an object for a call that was not made. */
const noCall = z.union([z.literal(''), z.literal(false), z.tuple([])]).transform(() => null)

/** Accepts `false` in place of a text and reads it as no content. */
function orFalse<S extends z.ZodType, V>(schema: S, none: V) {
  return z.union([z.literal(false).transform(() => none), schema])
}

/** Thinking under names that no documented API has; `thought: true` is Google's mark of a part and has no text. */
const unnamedThinking = z
  .union([z.string().transform(plainParts), z.array(partSchema), z.unknown().transform(() => [])])
  .optional()

const messageMembers = z.looseObject({
  content: parts,
  refusal: orFalse(refusalText, ''),
  reasoning_content: orFalse(parts, []),
  reasoning: z.union([parts, z.unknown().transform(() => [])]).optional(),
  reasoning_text: textSchema,
  thinking: z.union([parts, z.unknown().transform(() => [])]).optional(),
  thought: unnamedThinking,
  thoughts: unnamedThinking,
  thinking_content: unnamedThinking,
  thought_content: unnamedThinking,
  audio: z.looseObject({ transcript: textSchema }).nullish().catch(null),
  thinking_blocks: z.array(z.unknown()).nullish().catch(null),
  reasoning_details: z.array(z.unknown()).nullish().catch(null),
  tool_calls: calls,
  function_call: z.union([functionSchema, noCall]).nullish(),
  extra_content: callSchema.shape.extra_content,
})
/** Some providers write member names in camel case. */
const inOneSpelling = renaming({
  toolCalls: 'tool_calls',
  functionCall: 'function_call',
  reasoningContent: 'reasoning_content',
  thinkingContent: 'thinking_content',
  tool_call: 'tool_calls',
  toolCall: 'tool_calls',
  calls: 'tool_calls',
  function_calls: 'tool_calls',
  functionCalls: 'tool_calls',
  tool_uses: 'tool_calls',
})
const messageSchema = z.preprocess(
  (value) => withListedCalls(inOneSpelling(asMessage(value))),
  messageMembers,
)

/** Returns a message for a text, and an empty message for an empty list. */
function asMessage(value: unknown): unknown {
  if (typeof value === 'string') return { content: value }
  return Array.isArray(value) && value.length === 0 ? {} : value
}

/** Reads a list in `function_call` as `tool_calls`, unless the message has both. */
function withListedCalls(value: unknown): unknown {
  if (!isRecord(value) || !Array.isArray(value['function_call'])) return value
  const { function_call: list, ...rest } = value
  return isFilled(list) && !isFilled(value['tool_calls']) ? { ...rest, tool_calls: list } : rest
}
export type WireSaid = z.output<typeof messageMembers>

const reason = z
  .union([
    textSchema,
    z.array(textSchema).transform((list) => list[0] ?? ''),
    z
      .looseObject({ type: textSchema, reason: textSchema, name: textSchema })
      .transform(({ type, reason: why, name }) => type || why || name),
  ])
  .optional()
  .transform((text) => text ?? '')

/** The names of the reason for the end of an answer. */
const reasonNames = ['stop_reason', 'stopReason', 'finish_reason', 'finishReason'] as const

/** Returns the reason that an object of an answer names, in any form and under any name; empty for none. Pure. */
export function reasonIn(value: Readonly<Record<string, unknown>>): string {
  const given = reasonNames.map((name) => value[name]).find((one) => (one ?? null) !== null)
  const parsed = parseFirst(reason, given)
  return parsed.success ? parsed.data : ''
}

const choiceMembers = z.looseObject({
  index: place,
  delta: messageSchema.nullish(),
  message: messageSchema.nullish(),
  text: textSchema,
  finish_reason: reason,
  error: z.unknown().optional(),
})

const withReason = renaming({
  finishReason: 'finish_reason',
  stop_reason: 'finish_reason',
  stopReason: 'finish_reason',
})
const choiceSchema = z.preprocess((value) => withOwnMembers(withReason(value)), choiceMembers)

const ownCallNames = ['tool_calls', 'function_call']
const thoughtNames = ['reasoning_content', 'reasoning', 'reasoning_details', 'thinking']

/** Moves calls and thinking of the choice itself into its message, unless the message has its own. */
function withOwnMembers(value: unknown): unknown {
  if (!isRecord(value)) return value
  const place = isRecord(value['delta']) ? 'delta' : 'message'
  const message = isRecord(value[place]) ? value[place] : null
  const own =
    ownCallNames.find((one) => isFilled(value[one]) && !isFilled(message?.[one])) ??
    // Without a message, the words beside thinking stand in `text`.
    (message === null
      ? undefined
      : thoughtNames.find((one) => hasWords(value[one]) && !hasWords(message[one])))
  return own === undefined ? value : { ...value, [place]: { ...message, [own]: value[own] } }
}

const hasWords = (value: unknown): boolean => isFilled(value) || (typeof value === 'string' && value !== '')

function isFilled(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

const choiceList = z.preprocess((value) => {
  if (!isRecord(value)) return value
  const isByIndex = isFilled(value) && Object.keys(value).every((name) => /^\d{1,4}$/.test(name))
  return isByIndex ? Object.values(value) : [value]
}, z.array(choiceSchema.nullable()).nullish())

/** Copies members with the first name to the second name, unless the second has a value. */
function renaming(names: Readonly<Record<string, string>>) {
  const pairs = Object.entries(names)
  return (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const members = value as Readonly<Record<string, unknown>>
    let renamed: Record<string, unknown> | null = null
    for (const [from, to] of pairs) {
      if (!Object.hasOwn(members, from) || (members[to] ?? null) !== null) continue
      renamed ??= { ...members }
      renamed[to] = members[from]
    }
    return renamed ?? value
  }
}

/** The schema of one event of a stream, or of a whole answer. */
export const chatWireSchema = z.looseObject({
  id: idSchema,
  model: idSchema,
  choices: choiceList,
  message: z.union([messageSchema, z.string().transform(() => null)]).nullish(),
  done: z
    .unknown()
    .optional()
    .transform((value) => value === true),
  done_reason: reason,
  usage: z.unknown().optional(),
})
export type WireChunk = z.output<typeof chatWireSchema>
