import type { UpdateAction } from '@flotilla/protocol/task-actions'
import type { ToolOutput } from '@flotilla/protocol/tool-call'
import type { PromptMessage, RequestedCall } from '../llm/language-model.ts'
import type { TaskCompletion } from '../tools/tool.ts'
import type { CallRecord } from './loop-detection.ts'
import type { RoundCount } from './round-budget.ts'

/** A call whose intent is on disk and whose result is not. */
export interface PendingCall {
  readonly callId: string
  readonly step: number
}

/** A steer that is part of the run's conversation. */
interface TakenSteer {
  readonly id: string
  /** The run's step count when the steer was added: the model reads the steer after that step. */
  readonly step: number
}

/**
 * The whole state of a run at a point in time, as a checkpoint stores it. Only the loop changes it, and
 * stores it before and after each effect. Invariant: `messages` ends in complete groups, or in a group whose
 * calls without a result are still to be made.
 */
export interface LoopState {
  readonly runId: string
  /** Fingerprint of the run's input. */
  readonly inputHash: string
  readonly startedAt: number
  /** Rises with every answer of the model and every tool call, over all attempts of the run. */
  step: number
  messages: PromptMessage[]
  rounds: RoundCount
  /** Tokens of the run, or of the whole task if the run works on one. */
  tokens: number
  costUsd: number
  calls: readonly CallRecord[]
  toolOutputs: ToolOutput[]
  /**
   * The agent's own loop has at most one such call. A harness may have more: calls of interrupted attempts that it has not
   * repeated yet.
   */
  pending: readonly PendingCall[]
  /** True if facts of this segment of the conversation, since its last compaction, were saved in memory. */
  flushed: boolean
  /** True if the agent was reminded to close its task, which happens once. */
  nudged: boolean
  completion: TaskCompletion | null
  steers: TakenSteer[]
  /** How many of the last messages, and of the last steers, are steers not yet confirmed to the mesh. */
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
  /** Usage of earlier turns. */
  tokens?: number
  costUsd?: number
  /** Calls of the run's earlier turns. */
  calls?: readonly CallRecord[]
}): LoopState {
  return {
    flushed: false,
    tokens: 0,
    costUsd: 0,
    calls: [],
    ...start,
    toolOutputs: [],
    pending: [],
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

/** Tools whose results come in a later turn: from another agent, or from a person who has to confirm. */
export const answeredLater: readonly string[] = [
  'hand_off',
  'delete_agent',
  'request_packages',
  'request_size',
]

/**
 * Pure. Whether this turn handed work off, or asked the giver of its task: then its end is a pause, and the
 * answer comes in a later turn.
 */
export function waitsForOthers(state: Pick<LoopState, 'toolOutputs'>): boolean {
  return state.toolOutputs.some((made) => made.ok && (answeredLater.includes(made.tool) || isQuestion(made)))
}

function isQuestion({ tool, input }: ToolOutput): boolean {
  return tool === 'update_task' && input['action'] === ('block' satisfies UpdateAction)
}
