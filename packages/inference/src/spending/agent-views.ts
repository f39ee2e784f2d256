import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { AgentActivity, AgentRegistry } from '@flotilla/fleet/agents'
import { reasonToPause } from '@flotilla/work/events'
import type { RunQueue } from '@flotilla/work/runs'
import type { InferenceKernel } from '../events/index.ts'

/** Agents as people see them, with the activity and costs that the modules runs and spending provide. */
export interface AgentViews {
  /** The view of one agent. Problem `unknown-agent`. */
  of(agentId: string): AgentView
  all(): readonly AgentView[]
}

export function createAgentViews(
  kernel: Pick<InferenceKernel, 'workEvents'>,
  needs: {
    readonly agents: Pick<AgentRegistry, 'viewOf' | 'view'>
    readonly runs: Pick<RunQueue, 'laneOf'>
    readonly spentTodayUsd: (agentId: string) => number
  },
): AgentViews {
  const activityOf = (agentId: string): AgentActivity => ({
    ...needs.runs.laneOf(agentId),
    pausedReason: reasonToPause(kernel.workEvents, agentId),
    costTodayUsd: needs.spentTodayUsd(agentId),
  })
  return {
    of: (agentId) => needs.agents.viewOf(agentId, activityOf),
    all: () => needs.agents.view(activityOf),
  }
}
