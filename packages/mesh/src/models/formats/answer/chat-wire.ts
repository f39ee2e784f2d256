import * as z from 'zod'

/**
 * The schema of chat completions as providers really write them. A value of any other type in these places makes the
 * answer unreadable. The table lists the types that differ from OpenAI's, and how each is converted. Null is the same
 * as a missing member.
 *
 * | place                  | taken                                                                                  |
 * | ---------------------- | -------------------------------------------------------------------------------------- |
 * | texts                  | texts; numbers and booleans as they are printed                                        |
 * | `content`, thinking    | a text, one part, or a list of texts and parts                                         |
 * | `tool_calls`           | a list, or one call; entries that are null are skipped                                 |
 * | `arguments`            | a text; any other value as its JSON text                                               |
 * | `index`                | a whole number, also as a text; anything else is no index                              |
 * | `finish_reason`        | a text, or an object with `type` or `reason`                                           |
 * | a call                 | `function` or `custom`, or `name` and `arguments` beside the id                        |
 * | `arguments`            | also `parameters` or `input`, where there are none                                     |
 * | refusal, thinking      | `false` is the same as none                                                            |
 * | a choice               | `delta`, `message`, or `text`; also `message` at the top, as Ollama's own API has it   |
 */

const words = z
  .union([z.string(), z.number().transform(String), z.boolean().transform(String)])
  .nullish()
  .transform((value) => value ?? '')

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

const innerPart = z.union([z.string().transform((text) => ({ text })), z.looseObject({ text: words })])

const partSchema = z.union([
  z.string().transform((text) => ({ type: 'text', text, thinking: '', refusal: '', known: true })),
  z
    .looseObject({
      type: words,
      text: z.union([words, z.looseObject({ value: words }).transform(({ value }) => value)]).optional(),
      thinking: z
        .union([words, z.array(innerPart).transform((parts) => parts.map(({ text }) => text).join(''))])
        .optional(),
      reasoning: z.union([words, z.unknown().transform(() => '')]).optional(),
      refusal: words.optional(),
    })
    .transform((part) => {
      const { type, text = '', thinking = '', reasoning = '', refusal = '' } = part
      const thought = thinking === '' ? reasoning : thinking
      const isThought = type === 'thinking' || type === 'reasoning'
      return {
        type,
        text: isThought ? '' : text,
        thinking: isThought && thought === '' ? text : thought,
        refusal,
        known: knownParts.includes(type) && saying.some((name) => part[name] !== undefined),
      }
    }),
])
export type SaidPart = z.output<typeof partSchema>

/** A part that has none of these says nothing that can be read. */
const saying = ['text', 'thinking', 'reasoning', 'refusal'] as const
const knownParts: readonly string[] = ['', 'text', 'output_text', 'thinking', 'reasoning', 'refusal']

const parts = z
  .union([
    z.union([z.number(), z.boolean()]).transform((value) => [plain(String(value))]),
    z.string().transform((text) => (text === '' ? [] : [plain(text)])),
    z.array(partSchema.nullable()).transform((list) => list.filter((part) => part !== null)),
    partSchema.transform((part) => [part]),
  ])
  .nullish()
  .transform((list) => list ?? [])

function plain(text: string): SaidPart {
  return { type: 'text', text, thinking: '', refusal: '', known: true }
}

const functionSchema = z.looseObject({
  index: place,
  name: words,
  arguments: argumentsText,
  parameters: argumentsText,
  input: argumentsText,
})

const callSchema = z.looseObject({
  index: place,
  id: words,
  name: words,
  arguments: argumentsText,
  parameters: argumentsText,
  input: argumentsText,
  function: functionSchema.nullish(),
  custom: functionSchema.nullish().catch(null),
  extra_content: z
    .looseObject({ google: z.looseObject({ thought_signature: words }).nullish() })
    .nullish()
    .catch(null),
})
export type WireCall = z.output<typeof callSchema>

const calls = z
  .union([
    z.array(callSchema.nullable()).transform((list) => list.filter((call) => call !== null)),
    callSchema.transform((call) => [call]),
    z.literal('').transform(() => []),
  ])
  .nullish()
  .transform((list) => list ?? [])

/** A flag where a text belongs: nothing of it is said. */
function orFalse<S extends z.ZodType, V>(schema: S, none: V) {
  return z.union([z.literal(false).transform(() => none), schema])
}

const saidSchema = z.looseObject({
  content: parts,
  refusal: orFalse(words, ''),
  reasoning_content: orFalse(parts, []),
  reasoning: z.union([parts, z.unknown().transform(() => [])]).optional(),
  reasoning_text: words,
  thinking: z.union([parts, z.unknown().transform(() => [])]).optional(),
  thinking_blocks: z.array(z.unknown()).nullish().catch(null),
  reasoning_details: z.array(z.unknown()).nullish().catch(null),
  tool_calls: calls,
  function_call: functionSchema.nullish(),
  extra_content: callSchema.shape.extra_content,
})
export type WireSaid = z.output<typeof saidSchema>

const reason = z
  .union([
    words,
    z
      .looseObject({ type: words, reason: words })
      .transform(({ type, reason: why }) => (type === '' ? why : type)),
  ])
  .optional()
  .transform((text) => text ?? '')

const choiceSchema = z.looseObject({
  index: place,
  delta: saidSchema.nullish(),
  message: saidSchema.nullish(),
  text: words,
  finish_reason: reason,
  error: z.unknown().optional(),
})

/** One event of a stream, or a whole answer. */
export const chatWireSchema = z.looseObject({
  id: words,
  model: words,
  choices: z.array(choiceSchema.nullable()).nullish(),
  message: z.union([saidSchema, z.string().transform(() => null)]).nullish(),
  done: z
    .unknown()
    .optional()
    .transform((value) => value === true),
  done_reason: reason,
  usage: z.unknown().optional(),
})
export type WireChunk = z.output<typeof chatWireSchema>
