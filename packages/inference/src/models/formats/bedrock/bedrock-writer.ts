import { Problem } from '@flotilla/protocol/problem'
import { redact } from '@flotilla/egress/credentials'
import type { Secret } from '@flotilla/egress/credentials'
import { createAnswerFrames, excerptOf } from '../answer/answer-frames.ts'
import type { Frame } from '../answer/event-lines.ts'
import { errorInAnswer } from '../answer/error-in-answer.ts'
import { wrapped } from '../answer/call-arguments.ts'
import { callIn, callTypes } from '../answer/call-pieces.ts'
import { reasonIn } from '../answer/chat-wire.ts'
import { wordsAt } from '../answer/read-words.ts'
import { namesOf } from '../answer/strange-content.ts'
import { unreadable } from '../answer/unreadable.ts'
import { wireValues } from '../answer/wire-values.ts'
import { membersOf, writtenObject } from '../claude/claude-message.ts'
import type { Members } from '../claude/claude-message.ts'
import { isRecord } from '../empty-answer.ts'

/**
 * Reads a whole answer of Bedrock's Converse API and writes it without what the package cannot read: unknown blocks
 * and members are removed, a missing usage or reason is filled in. Throws the Problems `provider-unreadable` and `upstream-failed`.
 */
export function createBedrockWriter({ secrets = [] }: { readonly secrets?: readonly Secret[] }) {
  const frames = createAnswerFrames()
  const values: Members[] = []

  function takeFrame({ data }: Frame): void {
    for (const { value, written } of wireValues(data, secrets)) {
      const failure = errorInAnswer(value, { secrets })
      if (failure !== null) throw failure
      values.push(membersOf(written))
    }
  }

  return {
    take(bytes: Uint8Array): string {
      frames.take(bytes).forEach(takeFrame)
      return ''
    },
    end(): string {
      frames.end().forEach(takeFrame)
      const answer = values.find(({ output }) => isRecord(output))
      if (answer !== undefined) return JSON.stringify(mendedAnswer(answer))
      const message = values[0]?.['message']
      if (typeof message !== 'string') throw unreadable('it has no output')
      const errorText = redact(excerptOf(message), secrets)
      throw new Problem('upstream-failed', { detail: `the model answered with an error: ${errorText}` })
    },
  }
}

function mendedAnswer(answer: Members): Members {
  const output = membersOf(answer['output'])
  const given = blocksOf(output['message'] ?? output)
  const blocks = given.flatMap((block) => mendedBlock(block))
  const [first] = given
  if (blocks.length === 0 && isRecord(first) && Object.keys(first).length > 0)
    throw unreadable(`a block of ${namesOf(first)}`)
  const hasCalls = blocks.some((block) => 'toolUse' in block)
  return {
    output: { message: { role: 'assistant', content: blocks } },
    stopReason: reasonIn(answer) || (hasCalls ? 'tool_use' : 'end_turn'),
    usage: mendedUsage(membersOf(answer['usage'])),
  }
}

/** Returns the blocks of a message: of its content, or the message itself if it is a text or one block. */
function blocksOf(message: unknown): readonly unknown[] {
  const content = isRecord(message) ? (message['content'] ?? message) : message
  if (Array.isArray(content)) return content
  return content === null || content === undefined ? [] : [content]
}

const counts = ['cacheReadInputTokens', 'cacheWriteInputTokens'] as const

/** Returns the usage with the counts that the package requires. Pure. */
export function mendedUsage(usage: Members): Members {
  const count = (name: string): number => {
    const given = usage[name]
    const value = typeof given === 'string' && /^\d{1,15}$/.test(given) ? Number(given) : given
    return typeof value === 'number' && Number.isFinite(value) ? value : 0
  }
  const inputTokens = count('inputTokens')
  const outputTokens = count('outputTokens')
  return {
    inputTokens,
    outputTokens,
    totalTokens: count('totalTokens') || inputTokens + outputTokens,
    ...Object.fromEntries(counts.flatMap((name) => (name in usage ? [[name, count(name)]] : []))),
  }
}

function mendedBlock(given: unknown): readonly Members[] {
  const block = isRecord(given) ? given : { text: given }
  const call = callOf(block)
  if (call !== null) return [{ toolUse: mendedCall(call) }]
  const { reasoningContent, citationsContent } = block
  if (reasoningContent !== undefined) return mendedThought(thoughtOf(reasoningContent))
  if (citationsContent !== undefined) return blocksOf(citationsContent).flatMap((part) => mendedBlock(part))
  const hasText = textNames.some((name) => (block[name] ?? null) !== null)
  return hasText ? [{ text: wordsAt(block, textNames) }] : []
}

/** The names of the words of a block or of a delta. */
export const textNames = ['text', 'content', 'output_text'] as const

const callNames = ['toolUse', 'toolCall', 'tool_use', 'tool_call', 'functionCall', 'function_call'] as const

/** Returns the call in a block or in the start of one, in the form of any API; null for none. Pure. */
export function callOf(block: Members): Members | null {
  const name = callNames.find((one) => isRecord(block[one]))
  if (name !== undefined) return membersOf(block[name])
  return callTypes.includes(block['type']) ? block : null
}

function mendedCall(call: Members): Members {
  const { input } = call
  const read = callIn(call)
  const written = input ?? read?.arguments
  const inner = typeof written === 'string' && written !== '' ? writtenObject(written) : written || {}
  return {
    toolUseId: read?.id ?? '',
    name: read?.name ?? '',
    input: isRecord(inner) ? inner : wrapped(written),
  }
}

/** Thinking as an object; some gateways write its words alone. */
function thoughtOf(thought: unknown): Members {
  return typeof thought === 'string' ? { reasoningText: { text: thought } } : membersOf(thought)
}

function mendedThought(thought: Members): readonly Members[] {
  const { text, signature } = membersOf(thought['reasoningText'])
  if (typeof text === 'string') {
    const seal = typeof signature === 'string' ? { signature } : {}
    return [{ reasoningContent: { reasoningText: { text, ...seal } } }]
  }
  const { data } = membersOf(thought['redactedReasoning'])
  if (typeof data === 'string') return [{ reasoningContent: { redactedReasoning: { data } } }]
  const { redactedContent } = thought
  return typeof redactedContent === 'string' ? [{ reasoningContent: { redactedContent } }] : []
}
