import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonAsWritten } from '@flotilla/foundation/intake'
import { reasonIn } from '../answer/chat-wire.ts'
import { settleArguments, wrapped } from '../answer/call-arguments.ts'
import { isRecord } from '../empty-answer.ts'

export type Members = Readonly<Record<string, unknown>>

export function membersOf(value: unknown): Members {
  return isRecord(value) ? value : {}
}

/** Converts a whole message to the events of a stream; each block is complete in its first event. Pure. */
export function eventsOfMessage(message: Members): readonly Members[] {
  const { content, stop_sequence = null, usage } = message
  const stop_reason = reasonIn(message) || null
  const start = { ...message, content: [], stop_reason: null, stop_sequence: null }
  return [
    { type: 'message_start', message: start },
    ...blockEvents(blocksOf(content)),
    { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage },
    { type: 'message_stop' },
  ]
}

/** Converts whole blocks to the events of a stream. Pure. */
export function blockEvents(blocks: readonly unknown[]): readonly Members[] {
  return blocks.flatMap((content_block, index) => [
    { type: 'content_block_start', index, content_block },
    { type: 'content_block_stop', index },
  ])
}

/** Returns the content as a list of blocks; some servers write one text or one block instead of a list. */
export function blocksOf(content: unknown): readonly unknown[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  if (Array.isArray(content)) return content
  return isRecord(content) ? [content] : []
}

/** Returns the error that replaces an answer; null for an answer. Pure. */
export function errorIn(events: readonly Members[]): Members | null {
  return events.find(({ type }) => type === 'error') ?? null
}

/** Joins the events of a stream, which `createClaudeMender` has adapted, to one message. Pure. */
export function messageOfEvents(events: readonly Members[]): Members {
  const blocks: Block[] = []
  const byIndex = new Map<unknown, Block>()
  let message: Members = {}
  for (const event of events) {
    const { type, index } = event
    if (type === 'message_start') message = membersOf(event['message'])
    else if (type === 'content_block_start') {
      const block: Block = { members: { ...membersOf(event['content_block']) }, input: [] }
      blocks.push(block)
      byIndex.set(index, block)
    } else if (type === 'content_block_delta') {
      const block = byIndex.get(index)
      if (block) addDelta(block, membersOf(event['delta']))
    } else if (type === 'message_delta') {
      const usage = { ...membersOf(message['usage']), ...filled(membersOf(event['usage'])) }
      message = { ...message, ...filled(membersOf(event['delta'])), usage }
    }
  }
  return { ...message, content: blocks.map(({ members, input }) => withInput(members, input)) }
}

interface Block {
  readonly members: Record<string, unknown>
  /** The pieces of a call's input, as JSON text. */
  readonly input: string[]
}

function addDelta({ members, input }: Block, delta: Members): void {
  if (typeof delta['partial_json'] === 'string') input.push(delta['partial_json'])
  for (const name of ['text', 'thinking', 'signature'] as const) {
    const piece = delta[name]
    if (typeof piece === 'string') members[name] = `${textOf(members[name])}${piece}`
  }
  if (delta['citation'] !== undefined) {
    const before: unknown = members['citations']
    members['citations'] = [...(Array.isArray(before) ? before : []), delta['citation']]
  }
}

/**
 * Returns the input from its pieces, by the rules of `settleArguments`, else from the start of the block. Text that
 * is not an object is wrapped.
 */
function withInput(members: Members, pieces: readonly string[]): Members {
  const written = pieces.join('')
  if (written.trim() === '') return members
  return { ...members, input: writtenObject(written) ?? settledObject(pieces) ?? wrapped(written) }
}

/** Returns the object in pieces that are not one JSON object; null for several objects, as one block is one call. */
function settledObject(pieces: readonly string[]): Members | null {
  const [only, another] = settleArguments(pieces)
  return only === undefined || another !== undefined ? null : writtenObject(only)
}

/** Returns the object in a JSON text, with all digits of its numbers; null for any other text. Pure. */
export function writtenObject(text: string): Members | null {
  try {
    const value = readJsonAsWritten(text, jsonLimits.modelAnswer)
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}

/** Members with a value. Pure. */
export function filled(members: Members): Members {
  const entries = Object.entries(members)
  return entries.some(([, value]) => value === null || value === undefined)
    ? Object.fromEntries(entries.filter(([, value]) => value !== null && value !== undefined))
    : members
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
