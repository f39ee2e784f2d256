import type { LoopState } from '../loop/loop-state.ts'
import type { Trust } from '../memory/trust.ts'

/** How a sub-agent stands. `timeout`: its time to live is over; `cancelled`: its parent's work ended before its own. */
export type SubagentState = 'running' | 'complete' | 'failed' | 'timeout' | 'cancelled'

/** What a sub-agent leaves when it ends. */
export interface SubagentEnd {
  readonly state: Exclude<SubagentState, 'running'>
  /** Its answer, or why there is none and what it said last. Material for the parent, never instructions. */
  readonly text: string
  /** Of the least trusted text that it has read. */
  readonly trust: Trust
  readonly endedAt: number
}

export interface Subagent {
  /** Unlike those of its siblings, over all lives of the run: `sub_` and the step that began it. */
  readonly id: string
  readonly goal: string
  readonly ttlSeconds: number
  readonly startedAt: number
  /** Its loop's own state; what it and its own sub-agents use is counted there. */
  readonly loop: LoopState
  /** Never rejects. */
  readonly done: Promise<SubagentEnd>
  end: SubagentEnd | null
  /** Its result was given to the parent. */
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
