import * as z from 'zod/mini'
import { harnessCallKinds } from '@flotilla/protocol/harness-api'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { cleanAndCut } from '../tools/cut-middle.ts'
import type { StatedCall } from './stated-call.ts'

/** Parts of a result that are read; the others are counted. */
const partsMax = 50
const titleMaxChars = 500
/** Longest text of a result, in characters; the middle of a longer one is left out. */
const outputMaxChars = 4000
/** Longest piece of an answer that is read from one message, in characters. */
const textMaxChars = 200_000
const planEntriesMax = 100
/** Codex writes this in a message of its own before the first answer of a session, for each model that OpenAI lacks. */
const codexWarning =
  /^Model metadata for `[^`]{1,200}` not found\. Defaulting to fallback metadata;[^\n]{0,200}$/
/** Fields in which harnesses put the output of a program, if they report it as a record. */
const outputFields = ['formatted_output', 'aggregated_output', 'output', 'stdout'] as const

/** What a harness reports of its work, reduced to what people see. */
export type HarnessUpdate =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'plan'; readonly text: string }
  | ({ readonly kind: 'call' } & CallReport)

export interface CallReport {
  readonly callId: string
  readonly stated: StatedCall
  readonly status: 'open' | 'completed' | 'failed' | null
  readonly output: string
}

const text = z.catch(z.nullish(z.string()), null)
const contentSchema = z.catch(z.looseObject({ type: text, text }), { type: null, text: null })
const partSchema = z.catch(
  z.looseObject({
    type: text,
    content: z.optional(contentSchema),
    path: text,
    oldText: text,
    newText: text,
  }),
  { type: null, path: null, oldText: null, newText: null },
)
const updateSchema = z.looseObject({
  sessionUpdate: z.string(),
  content: z.optional(z.unknown()),
  toolCallId: text,
  title: text,
  kind: z.catch(z.nullish(z.enum(harnessCallKinds)), null),
  status: text,
  locations: z.catch(z.nullish(z.array(z.looseObject({ path: z.string() }))), null),
  rawInput: z.optional(z.unknown()),
  rawOutput: z.optional(z.unknown()),
  entries: z.catch(z.nullish(z.array(z.looseObject({ content: text, status: text }))), null),
})
const notificationSchema = z.looseObject({ sessionId: z.string(), update: updateSchema })
type RawUpdate = z.output<typeof updateSchema>

/**
 * Reads one `session/update`. Returns null for what people do not see, for an update of another session, and for any
 * other form. Pure.
 */
export function readUpdate(params: unknown, sessionId: string): HarnessUpdate | null {
  const parsed = notificationSchema.safeParse(params)
  if (!parsed.success || parsed.data.sessionId !== sessionId) return null
  const { update } = parsed.data
  switch (update.sessionUpdate) {
    case 'agent_message_chunk': {
      const said = contentSchema.parse(update.content).text ?? ''
      return said === '' || codexWarning.test(said)
        ? null
        : { kind: 'text', text: said.slice(0, textMaxChars) }
    }
    case 'plan':
      return { kind: 'plan', text: planText(update) }
    case 'tool_call':
    case 'tool_call_update':
      return readCall(update)
    default:
      return null
  }
}

/** Reads the call that a permission is requested for; null without an identifier. Pure. */
export function readRequestedCall(toolCall: unknown): CallReport | null {
  const parsed = updateSchema.safeParse({
    ...(isJsonObject(toolCall) ? toolCall : {}),
    sessionUpdate: 'tool_call',
  })
  const call = parsed.success ? readCall(parsed.data) : null
  return call?.kind === 'call' ? call : null
}

function readCall(update: RawUpdate): HarnessUpdate | null {
  const { toolCallId, title, kind, status, locations } = update
  if (typeof toolCallId !== 'string' || toolCallId === '') return null
  return {
    kind: 'call',
    callId: toolCallId.slice(0, titleMaxChars),
    stated: {
      tool: kind ?? null,
      title: title ?? null,
      paths: (locations ?? []).map(({ path }) => path),
      input: update.rawInput,
      content: update.content,
    },
    status: status === 'completed' || status === 'failed' ? status : status === null ? null : 'open',
    output: outputText(update),
  }
}

function outputText({ content, rawOutput }: RawUpdate): string {
  const said = contentText(content)
  if (said !== '') return cleanAndCut(said, outputMaxChars)
  const raw = isJsonObject(rawOutput)
    ? outputFields.map((field) => rawOutput[field]).find((text) => typeof text === 'string' && text !== '')
    : rawOutput
  return typeof raw === 'string' ? cleanAndCut(raw, outputMaxChars) : ''
}

/** Returns the texts and the changes that a harness reports, whole, with the number of parts that are not read. Pure. */
export function contentText(content: unknown): string {
  if (!Array.isArray(content)) return ''
  const parts = content.slice(0, partsMax).map((part) => partText(partSchema.parse(part)))
  const more = content.length - parts.length
  return [...parts, more > 0 ? `[${more} more parts omitted]` : ''].filter((part) => part !== '').join('\n')
}

function partText(part: z.output<typeof partSchema>): string {
  if (part.type === 'content') return part.content?.text ?? ''
  if (part.type !== 'diff') return ''
  const lines = (mark: string, of: string | null | undefined) =>
    (of ?? '')
      .split('\n')
      .map((line) => `${mark}${line}`)
      .join('\n')
  const before = part.oldText === null || part.oldText === undefined ? '' : `${lines('-', part.oldText)}\n`
  return `${part.path ?? ''}\n${before}${lines('+', part.newText)}`
}

function planText({ entries }: RawUpdate): string {
  const lines = (entries ?? [])
    .slice(0, planEntriesMax)
    .map(
      ({ content, status }) => `[${(status ?? '').slice(0, 20)}] ${(content ?? '').slice(0, titleMaxChars)}`,
    )
  return lines.join('\n').slice(0, outputMaxChars)
}
