import { callIn } from '../answer/call-pieces.ts'
import { wordsAt } from '../answer/read-words.ts'
import { isRecord } from '../empty-answer.ts'
import { callOf, textNames } from './bedrock-writer.ts'
import { membersOf } from '../claude/claude-message.ts'
import type { Members } from '../claude/claude-message.ts'

/** The name of an event and its content. */
type NamedEvent = readonly [name: string, event: Members]

export interface BlockMender {
  take(name: string, event: Members): readonly NamedEvent[]
  hasCalls(): boolean
}

/**
 * Adapts the events of content blocks to the form that the package accepts: it ends an answer with an error for a
 * delta of an unknown kind, drops input without the start of its block, and joins calls with the same id. Create one
 * per stream.
 */
export function createBlockMender(): BlockMender {
  const open = new Set<number>()
  const ids = new Set<string>()
  let lastIndex = 0

  function indexIn(event: Members): number {
    const { contentBlockIndex: index } = event
    lastIndex = typeof index === 'number' && Number.isInteger(index) ? index : lastIndex
    return lastIndex
  }

  /** Returns the id, or another one if it is missing or taken; a number behind it keeps it readable. */
  function freeId(given: unknown): string {
    const wanted = typeof given === 'string' && given !== '' ? given : 'call'
    let id = wanted
    for (let number = 2; ids.has(id); number++) id = `${wanted}_${number}`
    ids.add(id)
    return id
  }

  function startCall(contentBlockIndex: number, call: Members): NamedEvent {
    open.add(contentBlockIndex)
    const read = callIn(call)
    const toolUse = { toolUseId: freeId(read?.id), name: read?.name ?? '' }
    return ['contentBlockStart', { contentBlockIndex, start: { toolUse } }]
  }

  function input(contentBlockIndex: number, written: unknown): readonly NamedEvent[] {
    const text = typeof written === 'string' ? written : isRecord(written) ? JSON.stringify(written) : ''
    if (text === '') return []
    const event = { contentBlockIndex, delta: { toolUse: { input: text } } }
    const start = open.has(contentBlockIndex) ? [] : [startCall(contentBlockIndex, {})]
    return [...start, ['contentBlockDelta', event]]
  }

  function start(event: Members): readonly NamedEvent[] {
    const given = membersOf(event['start'])
    const call = callOf(given)
    const index = indexIn(event)
    if (call === null) return say(index, given)
    return [startCall(index, call), ...input(index, inputOf(call))]
  }

  /** Returns the words of a delta, or of the start of a block. */
  function say(contentBlockIndex: number, piece: Members): readonly NamedEvent[] {
    const text = wordsAt(piece, textNames)
    return text === '' ? [] : [['contentBlockDelta', { contentBlockIndex, delta: { text } }]]
  }

  function delta(event: Members): readonly NamedEvent[] {
    const given = event['delta']
    const piece = isRecord(given) ? given : { text: given }
    const contentBlockIndex = indexIn(event)
    const call = callOf(piece)
    if (call !== null) return callPiece(contentBlockIndex, call)
    if (piece['toolUse'] !== undefined) return input(contentBlockIndex, piece['toolUse'])
    const thought = thinkingOf(piece['reasoningContent'])
    if (thought === null) return say(contentBlockIndex, piece)
    return [['contentBlockDelta', { contentBlockIndex, delta: { reasoningContent: thought } }]]
  }

  /** Returns a piece of a call, with a start if it names a call that has not begun. */
  function callPiece(contentBlockIndex: number, call: Members): readonly NamedEvent[] {
    const begins = !open.has(contentBlockIndex) && (callIn(call)?.name ?? '') !== ''
    const start = begins ? [startCall(contentBlockIndex, call)] : []
    return [...start, ...input(contentBlockIndex, inputOf(call))]
  }

  return {
    hasCalls: () => ids.size > 0,
    take(name, event) {
      switch (name) {
        case 'contentBlockStart':
          return start(event)
        case 'contentBlockDelta':
          return delta(event)
        case 'contentBlockStop': {
          const contentBlockIndex = indexIn(event)
          open.delete(contentBlockIndex)
          return [['contentBlockStop', { contentBlockIndex }]]
        }
        default:
          // Unknown events, and the start of the message, from which nothing is read.
          return []
      }
    },
  }
}

/** Returns the input in a piece of a call, under any of its names. */
function inputOf(call: Members): unknown {
  return call['input'] ?? callIn(call)?.arguments
}

/** Returns a piece of thinking in the form of the API; null for none. */
function thinkingOf(given: unknown): Members | null {
  if (typeof given === 'string') return { text: given }
  const thought = { ...membersOf(given), ...membersOf(membersOf(given)['reasoningText']) }
  const name = thoughtNames.find((one) => typeof thought[one] === 'string')
  return name === undefined ? null : { [name]: thought[name] }
}

/** The kinds of a piece of thinking. */
const thoughtNames = ['text', 'signature', 'data', 'redactedContent'] as const
