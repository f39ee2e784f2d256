import { wireCallOf } from './chat-wire.ts'
import type { WireCall, WireFunction, WireSaid } from './chat-wire.ts'
import { namesOf } from './strange-content.ts'
import type { CallPiece } from './collect-calls.ts'

/** Returns the pieces of calls: in a whole message each entry is a call; in a stream the pieces name their call. */
export function piecesIn(message: WireSaid, isWhole: boolean): readonly CallPiece[] {
  const inContent = message.content.flatMap(({ call }) => call ?? [])
  const made = message.tool_calls.filter((call) => !isOfProvider(call))
  const pieces = [...made, ...inContent].map((call, position) =>
    pieceOf(call, isWhole || inContent.length > 0 ? position : null),
  )
  const legacy = message.function_call
  // `function_call` beside `tool_calls` repeats the same call for older clients.
  if (!legacy || pieces.length > 0) return pieces
  return [{ index: 0, id: '', name: nameOf(legacy), arguments: argumentsOf(legacy), seal: '' }]
}

/** The types with which APIs mark a call in a list of parts or blocks. */
export const callTypes: readonly unknown[] = [
  'tool_use',
  'toolUse',
  'tool_call',
  'toolCall',
  'function_call',
  'functionCall',
  'function',
]

/** Returns the call in a part or block of any API; null if it cannot be read. Pure. */
export function callIn(value: unknown): CallPiece | null {
  const call = wireCallOf(value)
  return call === null ? null : pieceOf(call, null)
}

/** Whether an entry reports a tool that ran at the provider: it has a type of its own and members of that type alone. */
function isOfProvider(call: WireCall): boolean {
  const type = call['type']
  if (typeof type !== 'string' || type === '' || type === 'custom' || callTypes.includes(type)) return false
  const { name, arguments: written } = pieceOf(call, null)
  return (
    name === '' &&
    written === '' &&
    Object.keys(call).some((member) => /^(?:web_|code_|file_|search)/.test(member))
  )
}

function pieceOf(call: WireCall, position: number | null): CallPiece {
  const named = call.function ?? call.custom ?? call.tool
  return {
    index: position ?? call.index ?? named?.index ?? null,
    id: idOf(call),
    name: (named && nameOf(named)) || nameOf(call),
    arguments: (named && argumentsOf(named)) || argumentsOf(call),
    seal: call.extra_content?.google?.thought_signature ?? '',
  }
}

/** Other names of the id of a call: the Responses API, Bedrock, results that repeat their call. */
const otherIds = ['call_id', 'toolUseId', 'tool_call_id', 'tool_use_id'] as const

function idOf(call: WireCall): string {
  const other = otherIds.map((name) => call[name]).find((one) => typeof one === 'string' && one !== '')
  const id = call.id === '' && typeof other === 'string' ? other : call.id
  return id.length > idMaxChars ? '' : id
}

/** Other names of the arguments: `args`, `kwargs`, `tool_args`, `arguments_json`, `toolInput`, `payload` and alike. */
const otherArguments =
  /^(?:kw|(?:tool|function|action)_?)?(?:args|params)$|arguments|^(?:tool|function|action)_?(?:input|parameters)$|^payload$|^inputs$/i
const otherName = /^(?:function|tool|action|recipient)_?name$|^action$/i

/**
 * Returns the arguments of a call: `arguments`, else `parameters` (Cohere, Llama), else `input` (Anthropic), else the
 * first member with another name of arguments, because a call without them would run with none.
 */
function argumentsOf(call: WireFunction): string {
  const known = call.arguments || call.parameters || call.input
  return known || printed(memberOf(call, otherArguments))
}

function nameOf(call: WireFunction): string {
  if (call.name !== '') return call.name
  const other = memberOf(call, otherName)
  return typeof other === 'string' ? other : ''
}

/**
 * Describes the first call that has neither an id, a name nor arguments under a known name, but members with other
 * names; null for no such call. Pure.
 */
export function strangeCall(calls: readonly WireCall[]): string | null {
  for (const call of calls) {
    const { id, name, arguments: written } = pieceOf(call, null)
    if (id !== '' || name !== '' || written !== '') continue
    const names = Object.entries(call).filter(
      ([member, value]) => !silentInCall.has(member) && isFilled(value),
    )
    if (names.length > 0) return `a call of ${namesOf(Object.fromEntries(names))}`
  }
  return null
}

const silentInCall: ReadonlySet<string> = new Set([
  'index',
  'type',
  'function',
  'custom',
  'tool',
  'extra_content',
])

function isFilled(value: unknown): boolean {
  return typeof value === 'string' ? value !== '' : typeof value === 'object' && value !== null
}

function memberOf(call: Readonly<Record<string, unknown>>, name: RegExp): unknown {
  return Object.entries(call).find(([key, value]) => name.test(key) && value !== '' && value != null)?.[1]
}

function printed(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The longest tool call id that is read, characters; a longer id is ignored. */
const idMaxChars = 512
