import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { readJsonAsWritten } from '../../../intake/index.ts'
import { createEventLines } from '../../formats/answer/event-lines.ts'
import type { Frame } from '../../formats/answer/event-lines.ts'
import { isRecord } from '../../formats/empty-answer.ts'

type Members = Readonly<Record<string, unknown>>

const eventMaxChars = 8 * 1024 * 1024
const known: readonly unknown[] = [
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'ping',
  'error',
]
const knownBlock =
  /^(?:text|thinking|redacted_thinking|tool_use|server_tool_use|mcp_tool_use|compaction|fallback|\w+_tool_result)$/
const knownDelta = /^(?:text|input_json|thinking|signature|citations|compaction)_delta$/

/**
 * Adapts a message stream to the strict schema of the AI SDK. Anthropic may add events, blocks and deltas, and
 * compatible servers omit members. So unknown parts are dropped, a missing usage, id or model is filled in, an input
 * that is not an object becomes an empty one, and text in the start of a block becomes its first delta. Everything
 * else stays unchanged.
 */
export async function* mendClaudeEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const lines = createEventLines(eventMaxChars)
  const decoder = new TextDecoder()
  const mend = createMender()
  const bounded = (work: () => readonly Frame[]): Uint8Array | null => {
    let frames: readonly Frame[]
    try {
      frames = work()
    } catch (cause) {
      throw new Problem('upstream-failed', { detail: 'an event of the answer is too large', cause })
    }
    const text = frames.flatMap(mend).map(printed).join('')
    return text === '' ? null : Buffer.from(text)
  }
  for await (const bytes of body) {
    const mended = bounded(() => lines.push(decoder.decode(bytes, { stream: true })))
    if (mended !== null) yield mended
  }
  const last = bounded(() => [...lines.push(decoder.decode()), ...lines.end()])
  if (last !== null) yield last
}

function printed({ event, data }: Frame): string {
  return `event: ${event}\n${data
    .split('\n')
    .map((line) => `data: ${line}\n`)
    .join('')}\n`
}

/** Creates the function that adapts each event of one stream. */
function createMender(): (frame: Frame) => readonly Frame[] {
  const dropped = new Set<unknown>()
  let outputTokens: unknown = 0

  return (frame) => {
    const event = objectIn(frame.data)
    if (event === null) return [frame]
    const type = event['type'] ?? frame.event
    if (!known.includes(type)) return []
    switch (type) {
      case 'message_start': {
        const message = membersOf(event['message'])
        outputTokens = membersOf(message['usage'])['output_tokens'] ?? 0
        return [frameOf({ ...event, type, message: filledMessage(message) })]
      }
      case 'content_block_start':
        return blockStart(event, dropped)
      case 'content_block_delta': {
        const delta = membersOf(event['delta'])['type']
        return dropped.has(event['index']) || !knownDelta.test(String(delta)) ? [] : [frame]
      }
      case 'content_block_stop':
        return dropped.has(event['index']) ? [] : [frame]
      case 'message_delta': {
        const usage = { output_tokens: outputTokens, ...filled(membersOf(event['usage'])) }
        return [frameOf({ ...event, usage })]
      }
      default:
        return [frame]
    }
  }
}

function blockStart(event: Members, dropped: Set<unknown>): readonly Frame[] {
  const { index } = event
  const block = membersOf(event['content_block'])
  if (!knownBlock.test(String(block['type']))) {
    dropped.add(index)
    return []
  }
  const isTool = 'input' in block || block['type'] === 'tool_use'
  const plain = isTool && !isRecord(block['input']) ? { ...block, input: {} } : block
  for (const name of ['text', 'thinking'] as const) {
    const words = plain[name]
    if (plain['type'] !== name || words === '') continue
    const start = frameOf({ ...event, content_block: { ...plain, [name]: '' } })
    if (typeof words !== 'string') return [start]
    const delta = { type: `${name}_delta`, [name]: words }
    return [start, frameOf({ type: 'content_block_delta', index, delta })]
  }
  return [frameOf({ ...event, content_block: plain })]
}

function filledMessage(message: Members): Members {
  const usage = { input_tokens: 0, output_tokens: 0, ...filled(membersOf(message['usage'])) }
  return { id: '', model: '', role: 'assistant', content: [], ...filled(message), usage }
}

function filled(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
}

function frameOf(event: Members): Frame {
  return { event: String(event['type']), data: JSON.stringify(event) }
}

/** Parses an event; numbers beyond the precision of a float keep their digits, because they are printed again. */
function objectIn(text: string): Members | null {
  try {
    const value = readJsonAsWritten(text, jsonLimits.modelAnswer)
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}

function membersOf(value: unknown): Members {
  return isRecord(value) ? value : {}
}
