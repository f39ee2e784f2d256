import { isRecord } from '../empty-answer.ts'
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
    const { name, toolUseId } = call
    const toolUse = { toolUseId: freeId(toolUseId), name: typeof name === 'string' ? name : '' }
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
    const { toolUse } = membersOf(event['start'])
    if (!isRecord(toolUse)) return []
    const index = indexIn(event)
    return [startCall(index, toolUse), ...input(index, toolUse['input'])]
  }

  function delta(event: Members): readonly NamedEvent[] {
    const piece = membersOf(event['delta'])
    const contentBlockIndex = indexIn(event)
    const as = (delta: Members): readonly NamedEvent[] => [
      ['contentBlockDelta', { contentBlockIndex, delta }],
    ]
    if (typeof piece['text'] === 'string') return as({ text: piece['text'] })
    if (piece['toolUse'] !== undefined)
      return input(contentBlockIndex, membersOf(piece['toolUse'])['input'] ?? piece['toolUse'])
    const thought = membersOf(piece['reasoningContent'])
    const name = thoughtNames.find((one) => typeof thought[one] === 'string')
    return name === undefined ? [] : as({ reasoningContent: { [name]: thought[name] } })
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

/** The kinds of a piece of thinking. */
const thoughtNames = ['text', 'signature', 'data', 'redactedContent'] as const
