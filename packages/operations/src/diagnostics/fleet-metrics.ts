import { agentStates } from '@flotilla/protocol/agent-lifecycle'
import type { DenialCounts } from '@flotilla/identity/access'
import type { AgentViews } from '@flotilla/inference/spending'
import type { Metric } from '@flotilla/identity/kernel'

/** Metrics about agents that no other module counts. */
export function fleetMetrics({
  views,
  denials,
  uptimeSeconds,
}: {
  readonly views: AgentViews
  readonly denials: DenialCounts
  readonly uptimeSeconds: () => number
}): readonly Metric[] {
  const agents = views.all()
  return [
    {
      name: 'flotilla_uptime_seconds',
      kind: 'gauge',
      description: 'Seconds since the mesh started',
      samples: [{ value: uptimeSeconds() }],
    },
    {
      name: 'flotilla_agents',
      kind: 'gauge',
      description: 'Agents by state',
      samples: agentStates.map((state) => ({
        labels: { state },
        value: agents.filter((agent) => agent.state === state).length,
      })),
    },
    {
      name: 'flotilla_lane_queued',
      kind: 'gauge',
      description: 'Queued runs by agent',
      samples: agents.map(({ id, queued }) => ({ labels: { agent: id }, value: queued })),
    },
    {
      name: 'flotilla_denials_24h',
      kind: 'gauge',
      description: 'Calls denied in the last 24 hours by agent and action',
      samples: agents.flatMap(({ id }) =>
        Object.entries(denials.last24Hours(id)).map(([action, value]) => ({
          labels: { agent: id, action },
          value,
        })),
      ),
    },
  ]
}
