import type { AgentMetrics, operatorViewApi } from '@flotilla/protocol/operator-api'
import type * as z from 'zod'
import type { Caller, DenialCounts } from '@flotilla/identity/access'
import type { AgentRegistry } from '@flotilla/fleet/agents'
import type { CrossProjectCounts } from '@flotilla/collaboration/blackboard'
import type { AgentViews } from '@flotilla/inference/spending'
import type { Kernel } from '@flotilla/identity/kernel'
import type { RunQueries } from '@flotilla/work/runs'

const dayMs = 24 * 3600 * 1000
const staleHours = 24
/** Stale tasks are counted up to this number. */
const staleCountedMax = 1000

export interface FleetStatsNeeds {
  readonly agents: Pick<AgentRegistry, 'require' | 'list'>
  readonly views: AgentViews
  readonly runs: Pick<RunQueries, 'countByState' | 'endedSince'>
  readonly denials: DenialCounts
  readonly crossProject: CrossProjectCounts
  readonly spentThisMonthUsd: (agentId: string) => number
  readonly listStaleTasks: (
    caller: Caller,
    page: { readonly hours: number; readonly limit: number },
  ) => readonly unknown[]
  readonly pendingApprovals: () => number
  readonly uptimeSeconds: () => number
}

/** Statistics of the fleet and its agents, for the operator and for programs of this machine. */
export function createFleetStats({ guard, clock }: Pick<Kernel, 'guard' | 'clock'>, needs: FleetStatsNeeds) {
  const { agents, views, runs, denials, crossProject } = needs

  /** `tool_denials_24h` and `_blackboard_xproject_count` only inform people; no decision depends on them. */
  function ofAgent(agentId: string): AgentMetrics {
    return {
      ...views.of(agentId),
      cost_month_usd: needs.spentThisMonthUsd(agentId),
      runs_24h: runs.endedSince(agentId, clock.now() - dayMs),
      tool_denials_24h: { ...denials.last24Hours(agentId) },
      _blackboard_xproject_count: { ...crossProject.of(agentId) },
    }
  }

  return {
    agents: (caller: Caller): readonly AgentMetrics[] => {
      guard(caller, { do: 'view-fleet' })
      return agents.list().map(({ id }) => ofAgent(id))
    },
    /** The statistics of one agent. Problem `unknown-agent`. */
    agent: (caller: Caller, agentId: string): AgentMetrics => {
      guard(caller, { do: 'view-fleet' })
      agents.require(agentId)
      return ofAgent(agentId)
    },
    fleet: (caller: Caller): z.input<typeof operatorViewApi.metrics.response> => {
      guard(caller, { do: 'view-fleet' })
      const all = views.all()
      const byState: Record<string, number> = {}
      const denied: Record<string, number> = {}
      for (const { id, state } of all) {
        byState[state] = (byState[state] ?? 0) + 1
        for (const [action, count] of Object.entries(denials.last24Hours(id))) {
          denied[action] = (denied[action] ?? 0) + count
        }
      }
      const stale = needs.listStaleTasks(caller, { hours: staleHours, limit: staleCountedMax })
      return {
        agents: { total: all.length, by_state: byState, busy: all.filter(({ busy }) => busy).length },
        runs: { ...runs.countByState() },
        cost_today_usd: all.reduce((sum, agent) => sum + agent.cost_today_usd, 0),
        stale_tasks_24h: stale.length,
        tool_denials_24h: denied,
        _blackboard_xproject_count: { ...crossProject.total() },
        pending_approvals: needs.pendingApprovals(),
        uptime_seconds: Math.round(needs.uptimeSeconds()),
      }
    },
  }
}

export type FleetStats = ReturnType<typeof createFleetStats>
