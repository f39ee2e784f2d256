import { Problem } from '@flotilla/protocol/problem'
import { redact } from '@flotilla/egress/credentials'
import type { Secret } from '@flotilla/egress/credentials'
import { createAnswerFrames, excerptOf } from '../answer/answer-frames.ts'
import type { Frame } from '../answer/event-lines.ts'
import { errorInAnswer } from '../answer/error-in-answer.ts'
import { wrapped } from '../answer/call-arguments.ts'
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
  const { content } = membersOf(membersOf(answer['output'])['message'])
  const list = Array.isArray(content) ? (content as unknown[]) : isRecord(content) ? [content] : []
  const blocks = list.flatMap((block) => mendedBlock(membersOf(block)))
  const { stopReason } = answer
  const hasCalls = blocks.some((block) => 'toolUse' in block)
  const reason = typeof stopReason === 'string' && stopReason !== '' ? stopReason : null
  return {
    output: { message: { role: 'assistant', content: blocks } },
    stopReason: reason ?? (hasCalls ? 'tool_use' : 'end_turn'),
    usage: mendedUsage(membersOf(answer['usage'])),
  }
}

const counts = ['cacheReadInputTokens', 'cacheWriteInputTokens'] as const

/** Returns the usage with the counts that the package requires. Pure. */
export function mendedUsage(usage: Members): Members {
  const count = (name: string): number => {
    const value = usage[name]
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

function mendedBlock(block: Members): readonly Members[] {
  const { text, toolUse, reasoningContent, citationsContent } = block
  if (typeof text === 'string') return [{ text }]
  if (isRecord(toolUse)) return [{ toolUse: mendedCall(toolUse) }]
  if (isRecord(reasoningContent)) return mendedThought(reasoningContent)
  const { content } = membersOf(citationsContent)
  return (Array.isArray(content) ? (content as unknown[]) : []).flatMap((part) => {
    const text = membersOf(part)['text']
    return typeof text === 'string' ? [{ text }] : []
  })
}

function mendedCall({ toolUseId, name, input }: Members): Members {
  const inner = typeof input === 'string' && input !== '' ? writtenObject(input) : input || {}
  return {
    toolUseId: typeof toolUseId === 'string' ? toolUseId : '',
    name: typeof name === 'string' ? name : '',
    input: isRecord(inner) ? inner : wrapped(input),
  }
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
