import type { AgentMetrics, operatorViewApi } from '@flotilla/protocol/operator-api'
import type * as z from 'zod'
import type { MeshParts } from './compose-parts.ts'
import { activityOf, costsOf } from './compose-use-cases.ts'
import type { Caller } from '../access/caller.ts'
import { systemClock } from '../platform/system-clock.ts'

const dayMs = 24 * 3600 * 1000
const staleHours = 24
/** Counting stops here; whoever has more stale tasks has another question. */
const staleCountedMax = 1000

/** One agent in figures. `tool_denials_24h` and `_blackboard_xproject_count` are for people to look at and decide nothing. */
export function agentFigures(parts: MeshParts, agentId: string): AgentMetrics {
  const view = parts.fleet.viewOf(agentId, activityOf(parts))
  const budget = { dailyUsd: view.budget.daily_usd, monthlyUsd: view.budget.monthly_usd }
  return {
    ...view,
    cost_month_usd: costsOf(parts, agentId, budget).month_usd,
    runs_24h: parts.ledger.endedSince(agentId, systemClock.now() - dayMs),
    tool_denials_24h: { ...parts.denials.last24Hours(agentId) },
    _blackboard_xproject_count: { ...parts.blackboard.crossProject.of(agentId) },
  }
}

/** The fleet in figures, for the operator and for programs of this machine. */
export function fleetFigures(
  parts: MeshParts,
  caller: Caller,
): z.input<typeof operatorViewApi.metrics.response> {
  const agents = parts.fleet.view(activityOf(parts))
  const byState: Record<string, number> = {}
  const denials: Record<string, number> = {}
  for (const { id, state } of agents) {
    byState[state] = (byState[state] ?? 0) + 1
    for (const [action, count] of Object.entries(parts.denials.last24Hours(id))) {
      denials[action] = (denials[action] ?? 0) + count
    }
  }
  const stale = parts.tasks.listStaleTasks(caller, { hours: staleHours, limit: staleCountedMax })
  return {
    agents: { total: agents.length, by_state: byState, busy: agents.filter(({ busy }) => busy).length },
    runs: { ...parts.ledger.countByState() },
    cost_today_usd: agents.reduce((sum, agent) => sum + agent.cost_today_usd, 0),
    stale_tasks_24h: stale.length,
    tool_denials_24h: denials,
    _blackboard_xproject_count: { ...parts.blackboard.crossProject.total() },
    pending_approvals: parts.control.approvals.pendingCount(),
    uptime_seconds: Math.round((systemClock.now() - parts.startedAt) / 1000),
  }
}
