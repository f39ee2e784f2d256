import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { isLive } from '@flotilla/protocol/agent-lifecycle'
import type { IsolationWish } from '@flotilla/protocol/isolation'
import { sinceOf, troubleOf } from './lifecycle/agent-state.ts'
import type { Placed } from './lifecycle/agent-placing.ts'
import { isArchived } from './registry/agent-table.ts'
import type { AgentRow } from './registry/agent-table.ts'

/** What other modules know about an agent. */
export interface AgentActivity {
  /** Whether a run of its lane is running now. */
  readonly busy: boolean
  readonly queued: number
  readonly waiting: number
  readonly costTodayUsd: number
  /** Why nothing proactive begins, or null. */
  readonly pausedReason: string | null
}

/** An agent as people see it. Pure. */
export function agentView(
  row: AgentRow,
  activity: AgentActivity,
  about: {
    readonly defaultModel: string | null
    readonly wish: IsolationWish
    /** The reason why it could not be started; null if it could. */
    readonly lacking: string | null
    /** Null if nothing isolates it. */
    readonly placed: Placed | null
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
    isolation: {
      wanted: about.wish.wanted,
      required: about.wish.floor,
      runs_on: placed?.rung ?? null,
      fallback: placed === null ? about.lacking : placed.fallback,
    },
  }
}
