import { heartbeatSession } from '@flotilla/protocol/heartbeat-reply'
import type { Origin } from '@flotilla/protocol/origin'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import type { SteerMessage } from '@flotilla/protocol/steer'
import type { TaskAssignment, TaskTurn } from '@flotilla/protocol/task'

/** Work as the mesh sends it. Fencing tokens rise per agent over all runs. */
export type RunRequest =
  | {
      readonly kind: 'chat'
      readonly runId: string
      readonly fence: number
      readonly message: string
      readonly session: string
      /** The task that this turn continues. */
      readonly task?: TaskTurn | undefined
      readonly steers: readonly SteerMessage[]
      readonly origin?: Origin | undefined
    }
  | {
      readonly kind: 'task'
      readonly runId: string
      readonly fence: number
      readonly assignment: TaskAssignment
    }
  | {
      readonly kind: 'heartbeat'
      readonly runId: string
      readonly fence: number
      readonly message: string
      /** True for a later turn of the same heartbeat. */
      readonly continues: boolean
      readonly steers: readonly SteerMessage[]
      readonly origin?: Origin | undefined
    }
  | {
      readonly kind: 'tool'
      readonly runId: string
      readonly fence: number
      readonly tool: string
      readonly params: JsonObject
      readonly origin?: Origin | undefined
    }

/** Steers that arrived before this attempt. Pure. */
export function steersOf(request: RunRequest): readonly SteerMessage[] {
  if (request.kind === 'tool') return []
  return (request.kind === 'task' ? request.assignment.steers : request.steers) ?? []
}

/** The conversation of the run; null for a lone tool call. Pure. */
export function speaksIn(request: RunRequest): string | null {
  if (request.kind === 'chat') return request.session
  if (request.kind === 'heartbeat') return heartbeatSession
  return request.kind === 'task' ? taskSession(request.assignment) : null
}

/** The conversation that later turns of a task will use. Pure. */
export function taskSession({ context, task_id: taskId }: TaskAssignment): string {
  const named = context['session']
  return typeof named === 'string' && named !== '' ? named : `task:${taskId}`
}

/**
 * The input without run and fencing token, as one text: a run sent again with the same text is the same work. Pure.
 */
export function inputText(request: RunRequest): string {
  const { kind } = request
  if (kind === 'chat') return stableJson({ kind, session: request.session, message: request.message })
  if (kind === 'heartbeat') {
    return stableJson({ kind, message: request.message, continues: request.continues })
  }
  if (kind === 'tool') return stableJson({ kind, tool: request.tool, params: request.params })
  const { task_id, task_type, input_data, context, answer } = request.assignment
  const fields = { kind, task_id, task_type, input_data, context }
  return stableJson(answer === undefined ? fields : { ...fields, answer })
}

/** JSON with sorted keys: equal values give equal texts. Pure. */
export function stableJson(value: JsonValue): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  )
}
