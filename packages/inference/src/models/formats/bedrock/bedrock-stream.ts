import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import { excerptOf } from '../answer/answer-frames.ts'
import { reasonIn } from '../answer/chat-wire.ts'
import { errorWordsIn } from '../answer/error-in-answer.ts'
import { unreadable } from '../answer/unreadable.ts'
import { membersOf, writtenObject } from '../claude/claude-message.ts'
import type { Members } from '../claude/claude-message.ts'
import type { Secret } from '@flotilla/egress/credentials'
import { createBedrockWriter, mendedUsage } from './bedrock-writer.ts'
import { createFrameReader, preludeBytes, printFrame, startsWithFrame } from './event-frames.ts'
import type { EventFrame } from './event-frames.ts'
import { createBlockMender } from './mend-blocks.ts'

/** Exceptions that the package of the AI SDK reads. It ignores others, and the answer would seem to be cut off. */
const knownExceptions: ReadonlySet<string> = new Set([
  'internalServerException',
  'modelStreamErrorException',
  'serviceUnavailableException',
  'throttlingException',
  'validationException',
])

/**
 * Reads a stream of Bedrock's ConverseStream API and writes it in the form that the package accepts.
 *
 * - An answer is complete with its `messageStop`, or with its `metadata`, which follows that. What comes behind it
 *   revokes nothing: only the usage is still read; damaged bytes, errors and further content are dropped.
 * - Before that, damaged bytes throw the Problem `provider-unreadable`, and a frame that is cut off `upstream-failed`.
 * - Unknown events and deltas are removed, blocks without a start get one, and each call has an id of its own.
 * - Text in place of frames is read as a whole answer: it is an error, or a page, or cannot be streamed.
 *
 * Create one per stream.
 */
export function createBedrockStream({ secrets = [] }: { readonly secrets?: readonly Secret[] } = {}) {
  const frames = createFrameReader()
  const blocks = createBlockMender()
  /** The first bytes, until there are enough of them to tell frames from text; null from then on. */
  let first: Buffer | null = Buffer.alloc(0)
  let text: ReturnType<typeof createBedrockWriter> | null = null
  let isComplete = false
  /** True once the rest of the stream cannot be read. */
  let isBroken = false

  function stop(event: Members): Buffer {
    isComplete = true
    const { additionalModelResponseFields } = event
    const sequence = membersOf(membersOf(additionalModelResponseFields)['delta'])['stop_sequence']
    return printFrame('event', 'messageStop', {
      stopReason: reasonIn(event) || (blocks.hasCalls() ? 'tool_use' : 'end_turn'),
      ...(typeof sequence === 'string'
        ? { additionalModelResponseFields: { delta: { stop_sequence: sequence } } }
        : {}),
    })
  }

  function metadata({ usage }: Members): readonly Buffer[] {
    const counted =
      Object.keys(membersOf(usage)).length === 0
        ? []
        : [printFrame('event', 'metadata', { usage: mendedUsage(membersOf(usage)) })]
    return isComplete ? counted : [stop({}), ...counted]
  }

  function failure(type: string, payload: Buffer): Buffer {
    const given = readJsonQuietly(payload.toString(), jsonLimits.serverReply)
    const words = errorWordsIn(given) || excerptOf(payload.toString())
    if (knownExceptions.has(type)) return printFrame('exception', type, { message: words })
    return printFrame('exception', 'modelStreamErrorException', { message: `${type}: ${words}` })
  }

  function written({ headers, payload }: EventFrame): readonly Buffer[] {
    const kind = headers.get(':message-type')
    if (kind === 'exception' || kind === 'error') {
      if (isComplete) return []
      const type = headers.get(':exception-type') ?? headers.get(':error-code') ?? 'error'
      const words = headers.get(':error-message')
      return [failure(type, words === undefined ? payload : Buffer.from(JSON.stringify({ message: words })))]
    }
    const type = headers.get(':event-type') ?? ''
    const event = writtenObject(payload.toString()) ?? {}
    if (type === 'metadata') return metadata(event)
    if (isComplete) return []
    if (type === 'messageStop') return [stop(event)]
    return blocks.take(type, event).map(([name, mended]) => printFrame('event', name, mended))
  }

  function framed(bytes: Uint8Array): Buffer {
    const out: Buffer[] = []
    if (isBroken) return Buffer.alloc(0)
    try {
      for (const frame of frames.take(bytes)) out.push(...written(frame))
    } catch (error) {
      if (!isComplete || !(error instanceof Problem)) throw error
      isBroken = true
    }
    return Buffer.concat(out)
  }

  function begin(bytes: Buffer): Buffer {
    first = null
    if (startsWithFrame(bytes) || !/^[\s\uFEFF]*[<{["]/.test(bytes.toString())) return framed(bytes)
    text = createBedrockWriter({ secrets })
    text.take(bytes)
    return Buffer.alloc(0)
  }

  return {
    take(bytes: Uint8Array): Buffer {
      if (text !== null) text.take(bytes)
      else if (first === null) return framed(bytes)
      else {
        first = Buffer.concat([first, bytes])
        if (first.length >= preludeBytes) return begin(first)
      }
      return Buffer.alloc(0)
    },
    end(): Buffer {
      if (first !== null) begin(first)
      if (text !== null)
        throw unreadable(`a whole answer came in place of a stream: ${excerptOf(text.end())}`)
      if (!isComplete && frames.openBytes() > 0)
        throw new Problem('upstream-failed', { detail: 'the model ended its answer early, within an event' })
      return Buffer.alloc(0)
    },
  }
}
