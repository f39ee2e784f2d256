import { blockEvents, blocksOf, eventsOfMessage, filled, membersOf } from './claude-message.ts'
import type { Members } from './claude-message.ts'
import { createAnswerEnding } from '../answer/answer-ending.ts'
import { charsIn, countIn, estimatedTokens } from '../usage.ts'
import { reasonIn } from '../answer/chat-wire.ts'
import { mendedBlock, mendedDelta, readBlock, readDelta, sayingDeltas } from './claude-blocks.ts'

interface MenderOptions {
  /** Whether unknown events and blocks stay, for a client that skips them; otherwise they are removed. */
  readonly keepsUnknown: boolean
}

const secondAnswer = {
  type: 'error',
  error: {
    type: 'api_error',
    message: 'the stream began a second answer before the first one had ended',
  },
} as const

interface OpenBlock {
  /** The position of the block in the mended stream; null if the block is removed. */
  readonly index: number | null
  readonly type: unknown
}

/** Adapts the events of one stream. An event that needs no change is returned as the same object. */
export interface ClaudeMender {
  take(event: Members): readonly Members[]
  /** Ends a message with content at the mark with which chat completions end. */
  done(): readonly Members[]
  /** Returns the events that the server omitted at the end of the stream. */
  end(): readonly Members[]
  /** The first block or delta of an unknown type of a message without any content; null for none. */
  strange(): string | null
  /** Whether the message has ended behind its content: by a reason, or by the end of its stream. */
  isComplete(): boolean
}

/**
 * Adapts a message stream to what strict readers accept. Anthropic may add events, blocks and deltas, and compatible
 * servers omit or repeat parts:
 *
 * - a whole message counts as its events;
 * - a missing or repeated start of the message, id, model, role or usage is filled in or removed; the start of
 *   another message behind content is an error, because a proxy has joined two answers;
 * - blocks are numbered in their order, and each has a start and a stop;
 * - text and input in the start of a block become its first delta;
 * - blocks and deltas in the forms of other APIs are read (`claude-blocks.ts`), and blocks in the start of the message
 *   where no others come;
 * - the reason may have another name or form, or be beside the delta or in the last event;
 * - a stream that ends with `message_stop` or `[DONE]` but without a reason ends as `end_turn` or `tool_use`;
 * - content behind `message_stop` is dropped.
 *
 * A stream without a reason and without such an end stays incomplete. Create one per stream.
 */
export function createClaudeMender({ keepsUnknown }: MenderOptions): ClaudeMender {
  let hasBegun = false
  let id = ''
  const ending = createAnswerEnding()
  let hasReason = false
  let isOver = false
  let hasCalls = false
  let count = 0
  const output = createOutputCount()
  /** The open blocks by the index that the server wrote. */
  const open = new Map<unknown, OpenBlock>()
  /** Blocks in the start of the message. */
  let early: readonly unknown[] = []
  let strange: string | null = null

  function begin(): readonly Members[] {
    if (hasBegun) return []
    hasBegun = true
    return [{ type: 'message_start', message: filledMessage({}) }]
  }

  function first(event: Members): readonly Members[] {
    hasBegun = true
    const message = membersOf(event['message'])
    const filledIn = filledMessage(message, keepsUnknown)
    id = idOf(message)
    early = blocksOf(message['content'])
    const mended = early.length > 0 ? { ...filledIn, content: [] } : filledIn
    output.report(membersOf(mended['usage'])['output_tokens'])
    return [mended === message ? event : { ...event, message: mended }]
  }

  /** Returns the blocks in the start of the message as events, unless others came. */
  function earlyBlocks(): readonly Members[] {
    const blocks = count === 0 ? early : []
    early = []
    return blockEvents(blocks).flatMap(take)
  }

  /** Drops a repeated start of the same message; returns an error if another message starts after content. */
  function again(message: Members): readonly Members[] {
    return count === 0 || idOf(message) === '' || idOf(message) === id ? [] : [secondAnswer]
  }

  function close(given: unknown): readonly Members[] {
    const block = open.get(given)
    open.delete(given)
    return block === undefined || block.index === null
      ? []
      : [{ type: 'content_block_stop', index: block.index }]
  }

  function openBlock(given: unknown, block: Members | null, type: unknown): number | null {
    const index = block === null ? null : count++
    open.set(given, { index, type })
    if (type === 'tool_use') hasCalls = true
    return index
  }

  function start(event: Members): readonly Members[] {
    const { index: given } = event
    const closed = close(given)
    const block = readBlock(event['content_block'])
    const mended = mendedBlock(block, keepsUnknown)
    const index = openBlock(given, mended?.block ?? null, block['type'])
    if (mended === null || index === null) {
      if (!quietTypes.test(String(block['type']))) strange ??= `a block of type ${nameOf(block)}`
      return [...begin(), ...closed]
    }
    // Text and thoughts have content with their first delta.
    const hasContent = mended.deltas.length > 0 || !['text', 'thinking'].includes(String(block['type']))
    ending.take({ hasContent, hasReason: false })
    const isSame = mended.block === event['content_block'] && index === given
    const started = isSame ? event : { ...event, index, content_block: mended.block }
    const deltas = mended.deltas.map((delta) => ({ type: 'content_block_delta', index, delta }))
    return [...begin(), ...closed, started, ...deltas]
  }

  function delta(event: Members): readonly Members[] {
    const { index: given } = event
    let block = open.get(given)
    const piece = readDelta(event['delta'] ?? pieceBeside(event), block?.type)
    const mended = mendedDelta(piece, keepsUnknown)
    if (mended === null) {
      if (!quietDeltas.includes(piece['type'])) strange ??= `a delta of type ${nameOf(piece)}`
      return []
    }
    let before: readonly Members[] = []
    if (block === undefined) {
      // The server omitted the start of the block.
      const begun = startOf(piece)
      if (begun === null) return []
      before = start({ type: 'content_block_start', index: given, content_block: begun })
      block = open.get(given)
    }
    const index = block?.index ?? null
    if (index === null) return before
    const chars = charsIn(mended) - charsIn(mended['type'])
    output.add(chars)
    ending.take({ hasContent: chars > 0, hasReason: false })
    return [
      ...before,
      mended === event['delta'] && index === given ? event : { ...event, index, delta: mended },
    ]
  }

  function messageDelta(event: Members): readonly Members[] {
    const late = earlyBlocks()
    const reported = membersOf(event['usage'])
    const usage = filledUsage({ output_tokens: output.count(), ...filled(reported) }, keepsUnknown)
    const { change, reason } = changeIn(event)
    hasReason ||= reason !== ''
    ending.take({ hasContent: false, hasReason: reason !== '' })
    const closed = [...open.keys()].flatMap(close)
    const isSame = sameMembers(usage, reported) && event['delta'] === change
    return [...begin(), ...late, ...closed, isSame ? event : { ...event, delta: change, usage }]
  }

  function stop(event: Members): readonly Members[] {
    if (isOver) return []
    isOver = true
    const late = earlyBlocks()
    ending.take({ hasContent: false, hasReason: true })
    const closed = [...late, ...[...open.keys()].flatMap(close)]
    if (hasReason) return [...begin(), ...closed, event]
    const ended = lateReason(event, hasCalls, output.count())
    return [...begin(), ...closed, ended, event]
  }

  function take(event: Members): readonly Members[] {
    switch (event['type']) {
      case 'message':
        return eventsOfMessage(event).flatMap(take)
      case 'message_start':
        return hasBegun ? again(membersOf(event['message'])) : first(event)
      case 'content_block_start':
        return isOver ? [] : start(event)
      case 'content_block_delta':
        return isOver ? [] : delta(event)
      case 'content_block_stop':
        return sameOr(event, close(event['index']))
      case 'message_delta':
        return messageDelta(event)
      case 'message_stop':
        return stop(event)
      case 'ping':
      case 'error':
        return [event]
      default:
        return keepsUnknown && typeof event['type'] === 'string' ? [event] : []
    }
  }

  return {
    take,
    isComplete: ending.isComplete,
    done: () => (count > 0 ? stop({ type: 'message_stop' }) : []),
    strange: () => (ending.hasSaid() ? null : strange),
    end: () => (hasReason && !isOver ? stop({ type: 'message_stop' }) : []),
  }
}

/** Returns the event with the reason of a message that had none: as its last event names it, or by its content. */
function lateReason(last: Members, hasCalls: boolean, output_tokens: number): Members {
  const named = reasonIn(last) || reasonIn(membersOf(last['message']))
  const delta = { stop_reason: named || (hasCalls ? 'tool_use' : 'end_turn'), stop_sequence: null }
  return { type: 'message_delta', delta, usage: { output_tokens } }
}

/** Returns the event itself if it closes the block that it names. */
function sameOr(event: Members, closed: readonly Members[]): readonly Members[] {
  return closed[0]?.['index'] === event['index'] && closed.length > 0 ? [event] : closed
}

/** Counts the output of a message whose end reports none: the start of a message counts one token or few. */
function createOutputCount() {
  let reported: unknown = 0
  let chars = 0
  return {
    report: (tokens: unknown): void => {
      reported = tokens
    },
    add: (more: number): void => {
      chars += more
    },
    count: (): number => {
      const estimate = estimatedTokens(chars)
      return typeof reported === 'number' && reported >= estimate ? reported : estimate
    },
  }
}

/** Returns the change that an event makes to its message, with the reason in the form of the API. */
function changeIn(event: Members): { readonly change: Members; readonly reason: string } {
  const given = membersOf(event['delta'])
  const reason = reasonIn(given) || reasonIn(event)
  const isSame = reason === '' || given['stop_reason'] === reason
  return { change: isSame ? given : { ...given, stop_reason: reason }, reason }
}

/** Blocks of tools that the provider itself runs, and others that have no words: a message may have only them. */
const quietTypes =
  /^(?:server_tool_use|mcp_tool_use|container_upload|compaction|redacted_thinking|.*_result)$/

/** Deltas of the API that have no words, or none yet. */
const quietDeltas: readonly unknown[] = [...sayingDeltas, 'citations_delta', undefined]

function nameOf({ type }: Members): string {
  return String(type).slice(0, 60)
}

/** Returns the piece of an event that has it beside its delta; undefined for none. */
function pieceBeside(event: Members): Members | undefined {
  const { text, thinking, partial_json } = event
  const [name, piece] = Object.entries({ partial_json, thinking, text }).find(([, one]) => one != null) ?? []
  return name === undefined ? undefined : { [name]: piece }
}

/**
 * Returns the start of the block that a delta belongs to; null for a delta that begins none. A call gets no name, so
 * that the model receives an error for it: without the call, its words would pass for the whole answer.
 */
function startOf(piece: Members): Members | null {
  switch (piece['type']) {
    case 'thinking_delta':
      return { type: 'thinking', thinking: '' }
    case 'text_delta':
      return { type: 'text', text: '' }
    case 'input_json_delta':
      return { type: 'tool_use', id: '', name: '', input: {} }
    default:
      return null
  }
}

function idOf(message: Members): string {
  return typeof message['id'] === 'string' ? message['id'] : ''
}

/** The counts that strict readers accept; other members of a usage differ between versions of the API. */
const counts = ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens']

function filledUsage(usage: Members, keepsUnknown: boolean): Members {
  const numbers = Object.entries(usage).flatMap(([name, value]): (readonly [string, unknown])[] => {
    if (!counts.includes(name)) return keepsUnknown ? [[name, value]] : []
    // Strict readers reject the whole answer for a negative count or one beyond the precision of a float.
    const count = countIn(value)
    return count === null ? [] : [[name, count]]
  })
  const plain: Members = Object.fromEntries(numbers)
  return { ...plain, output_tokens: plain['output_tokens'] ?? 0 }
}

function filledMessage(message: Members, keepsUnknown = true): Members {
  const reported = membersOf(message['usage'])
  const usage = { input_tokens: 0, ...filledUsage(filled(reported), keepsUnknown) }
  const known = { id: '', type: 'message', model: '', role: 'assistant', content: [], ...filled(message) }
  const same = sameMembers(usage, reported)
  const hasAll = ['id', 'type', 'model', 'role'].every((name) => typeof message[name] === 'string')
  if (same && hasAll && Array.isArray(message['content'])) return message
  return { stop_reason: null, stop_sequence: null, ...known, usage: same ? reported : usage }
}

function sameMembers(mended: Members, given: Members): boolean {
  const names = Object.keys(given)
  return names.length === Object.keys(mended).length && names.every((name) => mended[name] === given[name])
}
