import { jsonObjectSchema, jsonValueSchema } from '@flotilla/protocol/json-value'
import { chatToolCallSchema } from '@flotilla/protocol/llm-exchange'
import { thoughtSchema } from '@flotilla/protocol/normal-answer'
import type { Thought } from '@flotilla/protocol/normal-answer'
import { isCallEnd } from '@flotilla/protocol/chat-history'
import { runIdSchema } from '@flotilla/protocol/ids'
import { joinThoughts } from '@flotilla/protocol/thoughts'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { toolOutputSchema } from '@flotilla/protocol/tool-call'
import type { ToolOutput } from '@flotilla/protocol/tool-call'
import { imagesMax, isImageType } from '@flotilla/protocol/image-type'
import type { ImageRef, PromptMessage } from '../llm/language-model.ts'
import type { TaskCompletion } from '../tools/tool.ts'
import { callRecordsMax } from './loop-detection.ts'
import type { LoopState } from './loop-state.ts'

/**
 * Parses stored state. Programs in the container can write to these files, so nothing in them is trusted:
 * null for any other form.
 */
export function readLoopState(value: unknown): LoopState | null {
  const state = record(value)
  const rounds = record(state?.['rounds'])
  const messages = readMessages(state?.['messages'])
  if (!state || !rounds || !messages) return null
  const { runId, inputHash, startedAt, step, tokens, costUsd, nudged } = state
  const { turn, session, continues } = rounds
  if (typeof runId !== 'string' || typeof inputHash !== 'string') return null
  if (!areNumbers(startedAt, step, tokens, costUsd, turn, session, continues)) return null
  return {
    runId,
    inputHash,
    startedAt: Number(startedAt),
    step: Number(step),
    messages,
    rounds: { turn: Number(turn), session: Number(session), continues: Number(continues) },
    tokens: Number(tokens),
    costUsd: Number(costUsd),
    calls: readCallRecords(state['calls']),
    toolOutputs: list(state['toolOutputs']).flatMap(readToolOutput),
    pending: readPending(state['pending']),
    flushed: state['flushed'] === true,
    nudged: nudged === true,
    completion: readCompletion(state['completion']),
    ...readSteers(state, messages.length),
  }
}

/** Parses stored messages and sanitizes their texts again. Null if one message is malformed. */
export function readMessages(value: unknown): PromptMessage[] | null {
  if (!Array.isArray(value)) return null
  const messages = value.map(readMessage)
  return messages.includes(null) ? null : messages.filter((message) => message !== null)
}

function readMessage(value: unknown): PromptMessage | null {
  const message = record(value)
  if (!message || typeof message['content'] !== 'string') return null
  const content = sanitizeForPrompt(message['content'])
  const { role, toolCallId, by, run, ended } = message
  if (role === 'system' || role === 'user')
    return {
      role,
      content,
      ...(by === 'person' || by === 'other' ? { by } : {}),
      ...(runIdSchema.safeParse(run).success ? { run: String(run) } : {}),
    }
  if (role === 'tool') {
    if (typeof toolCallId !== 'string') return null
    const images = list(message['images']).slice(0, imagesMax).flatMap(readImage)
    return {
      role,
      content,
      toolCallId,
      ...(images.length > 0 ? { images } : {}),
      ...(isCallEnd(ended) ? { ended } : {}),
    }
  }
  if (role !== 'assistant') return null
  const calls = list(message['toolCalls']).map((call) => {
    const { id, name, arguments: text } = record(call) ?? {}
    const parsed = chatToolCallSchema.safeParse({ id, type: 'function', function: { name, arguments: text } })
    return parsed.success ? { id: parsed.data.id, ...parsed.data.function } : null
  })
  if (calls.includes(null)) return null
  const thoughts = readThoughts(message['thoughts'])
  return {
    role,
    content,
    toolCalls: calls.filter((call) => call !== null),
    ...(thoughts.length > 0 ? { thoughts } : {}),
  }
}

/** Parses stored thoughts; all are left out if one is invalid. A provider that wants them back works without them. */
function readThoughts(value: unknown): readonly Thought[] {
  const thoughts = list(value).map((entry) => thoughtSchema.safeParse(entry))
  return thoughts.every((one) => one.success) ? joinThoughts(thoughts.map((one) => one.data)) : []
}

function readImage(value: unknown): ImageRef[] {
  const { mediaType, sha256, sizeBytes } = record(value) ?? {}
  if (!isImageType(mediaType) || typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) return []
  const isSize = typeof sizeBytes === 'number' && Number.isSafeInteger(sizeBytes) && sizeBytes > 0
  return isSize ? [{ mediaType, sha256, sizeBytes }] : []
}

/** Parses stored records of calls; malformed ones are left out. */
export function readCallRecords(value: unknown): LoopState['calls'] {
  return list(value).slice(-callRecordsMax).flatMap(readCallRecord)
}

function readCallRecord(value: unknown): LoopState['calls'] {
  const { tool, paramsHash, resultHash } = record(value) ?? {}
  const whole = typeof tool === 'string' && typeof paramsHash === 'string' && typeof resultHash === 'string'
  return whole ? [{ tool, paramsHash, resultHash }] : []
}

function readToolOutput(value: unknown): ToolOutput[] {
  const parsed = toolOutputSchema.safeParse(value)
  return parsed.success ? [parsed.data] : []
}

/** Earlier releases stored at most one call, without a list. */
function readPending(value: unknown): LoopState['pending'] {
  return (Array.isArray(value) ? list(value) : [value]).flatMap((call) => {
    const { callId, step } = record(call) ?? {}
    return typeof callId === 'string' && typeof step === 'number' ? [{ callId, step }] : []
  })
}

function readSteers(
  state: Readonly<Record<string, unknown>>,
  messageCount: number,
): Pick<LoopState, 'steers' | 'unacknowledged'> {
  const steers = list(state['steers']).flatMap((steer) => {
    const { id, step } = record(steer) ?? {}
    return typeof id === 'string' && typeof step === 'number' ? [{ id, step }] : []
  })
  const stated = Number(state['unacknowledged'] ?? 0)
  const isCount = Number.isInteger(stated) && stated > 0
  return { steers, unacknowledged: isCount ? Math.min(stated, steers.length, messageCount) : 0 }
}

function readCompletion(value: unknown): TaskCompletion | null {
  const { taskId, status, summary, result, promote } = record(value) ?? {}
  if (typeof taskId !== 'string' || typeof summary !== 'string') return null
  if (status !== 'done' && status !== 'failed' && status !== 'blocked') return null
  const parsed = jsonValueSchema.safeParse(result)
  if (!parsed.success) return null
  const promoted = jsonObjectSchema.safeParse(promote ?? {})
  return { taskId, status, summary, result: parsed.data, promote: promoted.success ? promoted.data : {} }
}

function record(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : null
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function areNumbers(...values: readonly unknown[]): boolean {
  return values.every((value) => typeof value === 'number' && Number.isFinite(value))
}
