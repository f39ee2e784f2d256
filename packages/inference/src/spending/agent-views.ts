import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { AgentActivity, AgentRegistry } from '@flotilla/fleet/agents'
import { reasonToPause } from '@flotilla/identity/kernel'
import type { Kernel } from '@flotilla/identity/kernel'
import type { RunQueue } from '@flotilla/work/runs'

/** Agents as people see them, with the activity and costs that the modules runs and spending provide. */
export interface AgentViews {
  /** The view of one agent. Problem `unknown-agent`. */
  of(agentId: string): AgentView
  all(): readonly AgentView[]
}

export function createAgentViews(
  kernel: Pick<Kernel, 'hooks'>,
  needs: {
    readonly agents: Pick<AgentRegistry, 'viewOf' | 'view'>
    readonly runs: Pick<RunQueue, 'laneOf'>
    readonly spentTodayUsd: (agentId: string) => number
  },
): AgentViews {
  const activityOf = (agentId: string): AgentActivity => ({
    ...needs.runs.laneOf(agentId),
    pausedReason: reasonToPause(kernel.hooks, agentId),
    costTodayUsd: needs.spentTodayUsd(agentId),
  })
  return {
    of: (agentId) => needs.agents.viewOf(agentId, activityOf),
    all: () => needs.agents.view(activityOf),
  }
}
