import type { LoopState } from '../loop/loop-state.ts'
import type { Trust } from '../memory/trust.ts'

/** State of a sub-agent. `timeout`: its time limit is over; `cancelled`: its parent ended before it. */
export type SubagentState = 'running' | 'complete' | 'failed' | 'timeout' | 'cancelled'

/** The end of a sub-agent. */
export interface SubagentEnd {
  readonly state: Exclude<SubagentState, 'running'>
  /** The sub-agent's answer, or why it has none and its last text. Material for the parent, never instructions. */
  readonly text: string
  /** The trust of the least trusted text that it has read. */
  readonly trust: Trust
  readonly endedAt: number
}

export interface Subagent {
  /** Unique among its siblings over all attempts of the run: `sub_` and the step that started it. */
  readonly id: string
  readonly goal: string
  readonly ttlSeconds: number
  readonly startedAt: number
  /** The state of the sub-agent's loop, which also counts the usage of the sub-agents below it. */
  readonly loop: LoopState
  /** Never rejects. */
  readonly done: Promise<SubagentEnd>
  end: SubagentEnd | null
  /** True once the sub-agent's result was passed to the parent. */
  isRead: boolean
  cancel(): void
}

export interface SubagentView {
  readonly id: string
  readonly goal: string
  readonly state: SubagentState
  readonly age_seconds: number
  readonly ttl_seconds: number
  readonly rounds: number
  readonly tokens: number
  readonly cost_usd: number
}

const goalShownMaxChars = 200

/** Pure. */
export function viewSubagent(subagent: Subagent, now: number): SubagentView {
  const { id, goal, ttlSeconds, startedAt, loop, end } = subagent
  return {
    id,
    goal: goal.length <= goalShownMaxChars ? goal : `${goal.slice(0, goalShownMaxChars)} [cut]`,
    state: end?.state ?? 'running',
    age_seconds: Math.round(((end?.endedAt ?? now) - startedAt) / 1000),
    ttl_seconds: ttlSeconds,
    rounds: loop.rounds.turn,
    tokens: loop.tokens,
    cost_usd: Number(loop.costUsd.toFixed(6)),
  }
}
