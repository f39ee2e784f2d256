import type { UpdateAction } from '@flotilla/protocol/task-actions'
import type { ToolOutput } from '@flotilla/protocol/tool-call'
import type { PromptMessage, RequestedCall } from '../llm/language-model.ts'
import type { TaskCompletion } from '../tools/tool.ts'
import type { CallRecord } from './loop-detection.ts'
import type { RoundCount } from './round-budget.ts'

/** A call whose intent is on disk and whose result is not. */
interface PendingCall {
  readonly callId: string
  readonly step: number
}

/** Something that was said to the run and stands in its conversation. */
interface TakenSteer {
  readonly id: string
  /** The last step before it was read. */
  readonly step: number
}

/**
 * Everything that a run is at one moment; what a checkpoint holds. Changed by the loop alone, which stores it
 * before and after each effect. Invariant: `messages` ends in complete groups, or in a group whose calls without
 * an answer are still to be made.
 */
export interface LoopState {
  readonly runId: string
  /** Fingerprint of what was asked. */
  readonly inputHash: string
  readonly startedAt: number
  /** Rises with every answer of the model and every call of a tool, over all attempts of the run. */
  step: number
  messages: PromptMessage[]
  rounds: RoundCount
  /** Of the whole task, where the run works on one. */
  tokens: number
  costUsd: number
  calls: readonly CallRecord[]
  toolOutputs: ToolOutput[]
  pending: PendingCall | null
  /** Facts of this stretch of the conversation, since its last compaction, were handed to memory. */
  flushed: boolean
  /** The task's agent was reminded once to close it. */
  nudged: boolean
  completion: TaskCompletion | null
  steers: TakenSteer[]
  /** So many of the last messages, and of the last steers, are steers that the mesh does not know to be taken. */
  unacknowledged: number
}

export function freshState(start: {
  runId: string
  inputHash: string
  startedAt: number
  step: number
  messages: PromptMessage[]
  rounds: RoundCount
  flushed?: boolean
  /** What turns before this one have used. */
  tokens?: number
  costUsd?: number
}): LoopState {
  return {
    flushed: false,
    tokens: 0,
    costUsd: 0,
    ...start,
    calls: [],
    toolOutputs: [],
    pending: null,
    nudged: false,
    completion: null,
    steers: [],
    unacknowledged: 0,
  }
}

/** Pure. The calls of the latest answer that have no result yet, in order. */
export function openCalls(messages: readonly PromptMessage[]): readonly RequestedCall[] {
  const answered = new Set<string>()
  for (const message of messages.toReversed()) {
    if (message.role === 'tool') answered.add(message.toolCallId)
    else if (message.role === 'assistant') return message.toolCalls.filter((call) => !answered.has(call.id))
    else if (message.role === 'user') return []
  }
  return []
}

/** Tools whose results come as a later turn: from another agent, or from a person who has to confirm. */
export const answeredLater: readonly string[] = ['hand_off', 'delete_agent']

/**
 * Pure. Whether this turn gave work away, or asked whoever gave its task: then its end is a pause, and what it waits for
 * comes as a later turn.
 */
export function waitsForOthers(state: Pick<LoopState, 'toolOutputs'>): boolean {
  return state.toolOutputs.some((made) => made.ok && (answeredLater.includes(made.tool) || isQuestion(made)))
}

function isQuestion({ tool, input }: ToolOutput): boolean {
  return tool === 'update_task' && input['action'] === ('block' satisfies UpdateAction)
}
