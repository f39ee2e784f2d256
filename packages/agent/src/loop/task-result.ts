import type { TaskResult } from '@flotilla/protocol/agent-api'
import { Problem } from '@flotilla/protocol/problem'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import type { ToolOutput } from '@flotilla/protocol/tool-call'
import type { RunTicket } from '../mesh/mesh-http.ts'

/** How a run ended, before it is published. */
export type RunEnd =
  | {
      readonly status: 'complete'
      readonly response: string
      readonly result?: JsonValue
      readonly promote?: JsonObject
    }
  | {
      readonly status: 'failed' | 'cancelled' | 'timeout'
      readonly code: string
      readonly detail: string
      readonly response?: string
      readonly result?: JsonValue
    }

/** The end of a run that was stopped from outside. Pure. */
export function abortedEnd(signal: AbortSignal): RunEnd {
  const reason: unknown = signal.reason
  const problem = reason instanceof Problem ? reason : new Problem('cancelled')
  return { status: 'cancelled', code: problem.code, detail: problem.detail }
}

const toolOutputsMaxChars = 300_000
const inputTextMaxChars = 2000
const responseMaxChars = 200_000

/** The agent's record of a run, within the limits of the mesh. Pure. */
export function taskResult(
  ticket: RunTicket,
  end: RunEnd,
  facts: {
    taskId: string | null
    toolOutputs: readonly ToolOutput[]
    tokens: number
    costUsd: number
    durationMs: number
  },
): TaskResult {
  const complete = end.status === 'complete'
  return {
    run_id: ticket.runId,
    fence: ticket.fence,
    task_id: facts.taskId,
    status: end.status,
    result: end.result ?? null,
    response: (end.response ?? '').slice(0, responseMaxChars),
    error: complete ? null : { code: end.code, detail: end.detail },
    promote_to_blackboard: complete ? (end.promote ?? {}) : {},
    tool_outputs: boundOutputs(facts.toolOutputs),
    tokens_used: facts.tokens,
    cost_usd: facts.costUsd,
    duration_ms: Math.max(0, Math.round(facts.durationMs)),
  }
}

/** Long texts in a call's input are cut: a person or a log only needs to identify the call. Pure. */
export function boundInput(input: JsonObject): JsonObject {
  const entries = Object.entries(input).map(([name, value]) => [name, boundValue(value)] as const)
  return Object.fromEntries(entries)
}

function boundValue(value: JsonValue): JsonValue {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length <= inputTextMaxChars ? value : `${text.slice(0, inputTextMaxChars)} [cut]`
}

/** The newest outputs stay whole; older ones are listed without their text once the limit is reached. */
function boundOutputs(outputs: readonly ToolOutput[]): ToolOutput[] {
  let roomChars = toolOutputsMaxChars
  const kept = outputs.toReversed().map((output) => {
    roomChars -= output.output.length + inputTextMaxChars / 4
    return roomChars >= 0 ? output : { ...output, output: '[dropped]', input: {} }
  })
  return kept.toReversed()
}
