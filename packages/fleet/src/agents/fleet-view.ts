import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { isLive } from '@flotilla/protocol/agent-lifecycle'
import type { IsolationWish } from '@flotilla/protocol/isolation'
import { sinceOf, troubleOf } from './registry/agent-state.ts'
import type { Placed } from './lifecycle/agent-placing.ts'
import { isArchived } from './registry/agent-table.ts'
import type { AgentRow } from './registry/agent-table.ts'

/** Facts about an agent that other modules provide for its view. */
export interface AgentActivity {
  /** Whether the agent executes a run now. */
  readonly busy: boolean
  readonly queued: number
  readonly waiting: number
  readonly costTodayUsd: number
  /** Why the agent may start no proactive work now; null if it may. */
  readonly pausedReason: string | null
}

/** Builds the API view of an agent for people. Pure. */
export function agentView(
  row: AgentRow,
  activity: AgentActivity,
  about: {
    readonly defaultModel: string | null
    readonly wish: IsolationWish
    /** Why the mesh could not start the agent now; null if it could. */
    readonly lacking: string | null
    /** The agent's isolation level; null if the runtime provides no isolation. */
    readonly placed: Placed | null
    /** What the start of the agent waits for; null if it does not wait. */
    readonly waitsFor: string | null
  },
): AgentView {
  const { record, state } = row
  const placed = isLive(state.kind) ? about.placed : null
  return {
    id: record.id,
    kind: record.kind,
    role: record.role,
    model: record.model ?? about.defaultModel ?? '',
    state: state.kind,
    busy: activity.busy,
    queued: activity.queued,
    waiting: activity.waiting,
    cost_today_usd: activity.costTodayUsd,
    budget: { daily_usd: record.budget.dailyUsd, monthly_usd: record.budget.monthlyUsd },
    state_since: sinceOf(state),
    retry_at: 'dueAt' in state ? state.dueAt : null,
    archived: isArchived(row),
    paused: activity.pausedReason,
    last_error: troubleOf(state),
    // A reason that was noted for work that has been cancelled since is not shown.
    waits_for: activity.busy || activity.queued > 0 ? about.waitsFor : null,
    isolation: {
      wanted: about.wish.wanted,
      required: about.wish.floor,
      runs_on: placed?.rung ?? null,
      fallback: placed === null ? about.lacking : placed.fallback,
    },
  }
}
