import { callIn, callTypes } from '../answer/call-pieces.ts'
import { wrapped } from '../answer/call-arguments.ts'
import { wordsAt } from '../answer/read-words.ts'
import { membersOf, writtenObject } from '../claude/claude-message.ts'
import type { Members } from '../claude/claude-message.ts'
import { isRecord } from '../empty-answer.ts'

const callNames = [
  'functionCall',
  'function_call',
  'functionCalls',
  'function_calls',
  'toolCall',
  'tool_call',
  'toolCalls',
  'tool_calls',
  'toolUse',
  'tool_use',
] as const
const textNames = ['text', 'output_text', 'output', 'content', 'value'] as const

/**
 * Returns the parts of a candidate in the form of the API. Gateways write the content as one text, as a list of parts
 * or of contents, or leave it out and put words or calls into the candidate itself. Pure.
 */
export function partsOf(candidate: Members): readonly Members[] {
  const { content, message } = candidate
  const inContent = partsIn(content)
  if (inContent.length > 0) return inContent
  const beside = { ...candidate, content: undefined }
  const inCandidate = partsIn(beside)
  return inCandidate.length > 0 ? inCandidate : isRecord(message) ? partsOf(message) : []
}

/** Returns the parts in a content: of its list of parts, or of itself where it has none. */
function partsIn(content: unknown): readonly Members[] {
  if (Array.isArray(content)) return content.flatMap((one: unknown) => partsIn(one))
  if (!isRecord(content)) return mendedPart(content)
  const { parts } = content
  const list: readonly unknown[] = Array.isArray(parts) ? parts : parts == null ? [] : [parts]
  const listed = list.flatMap((part) => mendedPart(part))
  return listed.length > 0 ? listed : mendedPart({ ...content, parts: undefined })
}

/** Returns the part without members that the package does not know; an empty list if nothing remains. */
function mendedPart(given: unknown): readonly Members[] {
  if (Array.isArray(given)) return given.flatMap((one: unknown) => mendedPart(one))
  const part = isRecord(given) ? given : { text: given }
  const { thought } = part
  // Gateways that read Google's protocol buffers write names with underscores.
  const inlineData = part['inlineData'] ?? part['inline_data']
  const seal = part['thoughtSignature'] ?? part['thought_signature']
  const more = {
    ...(thought === true || thought === 'true' ? { thought: true } : {}),
    ...(typeof seal === 'string' && seal !== '' ? { thoughtSignature: seal } : {}),
  }
  const calls = callsIn(part)
  if (calls.length > 0) return calls.map((call) => ({ functionCall: mendedCall(call), ...more }))
  const media = membersOf(inlineData)
  const mimeType = media['mimeType'] ?? media['mime_type']
  const { data } = media
  if (typeof mimeType === 'string' && typeof data === 'string')
    return [{ inlineData: { mimeType, data }, ...more }]
  if (textNames.some((name) => (part[name] ?? null) !== null))
    return [{ text: wordsAt(part, textNames), ...more }]
  const ownThought = typeof thought === 'string' && thought !== '' && !('thought' in more)
  if (ownThought) return [{ text: thought, ...more, thought: true }]
  return 'thoughtSignature' in more ? [{ text: '', ...more }] : []
}

function callsIn(part: Members): readonly Members[] {
  const name = callNames.find((one) => typeof part[one] === 'object' && part[one] !== null)
  const given = name === undefined ? (callTypes.includes(part['type']) ? part : null) : part[name]
  const list: readonly unknown[] = Array.isArray(given) ? given : [given]
  return list.filter(isRecord)
}

/** Adapts a call: some gateways write the arguments as a JSON text. A call that arrives in pieces stays unchanged. */
function mendedCall(call: Members): Members {
  if ('partialArgs' in call || 'willContinue' in call) return call
  const { args } = call
  const read = callIn({ ...call, args: undefined })
  return {
    ...(read !== null && read.id !== '' ? { id: read.id } : {}),
    name: read?.name ?? '',
    args: argumentsOf(args ?? read?.arguments),
  }
}

function argumentsOf(args: unknown): unknown {
  if (isRecord(args)) return args
  if (args === null || args === undefined || args === '') return {}
  if (Array.isArray(args) && args.length === 1 && isRecord(args[0])) return args[0]
  return (typeof args === 'string' ? writtenObject(args) : null) ?? wrapped(args)
}
