import type { MeshParts } from './compose-parts.ts'
import type { AgentActivity } from '../agents/fleet-view.ts'
import { usdFromNano } from '../spending/money.ts'
import { coolDownLeftMs } from '../models/gateway/model-health.ts'
import { agentScope, utcDay } from '../spending/spend-table.ts'
import type { Metric } from '../kernel/metric.ts'
import { systemClock } from '../platform/system-clock.ts'

/** Counting stops here; whoever has more unread outcomes has another question. */
const undeliveredCountedMax = 1000

/** The fleet in numbers, for Prometheus. */
export function fleetMetrics(
  parts: MeshParts,
  activityOf: (agentId: string) => AgentActivity,
): readonly Metric[] {
  const agents = parts.fleet.view(activityOf)
  const { walls, checkedAt } = parts.walls.state()
  return [
    {
      name: 'flotilla_uptime_seconds',
      kind: 'gauge',
      description: 'Seconds since the mesh started',
      samples: [{ value: (systemClock.now() - parts.startedAt) / 1000 }],
    },
    {
      name: 'flotilla_runs',
      kind: 'gauge',
      description: 'Runs in the ledger by state',
      samples: Object.entries(parts.ledger.countByState()).map(([state, value]) => ({
        labels: { state },
        value,
      })),
    },
    {
      name: 'flotilla_agents',
      kind: 'gauge',
      description: 'Agents by state',
      samples: ['stopped', 'starting', 'ready', 'failed'].map((state) => ({
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
      name: 'flotilla_cost_today_usd',
      kind: 'gauge',
      description: 'Spent today (UTC) by agent, US dollars',
      samples: agents.map(({ id, cost_today_usd: value }) => ({ labels: { agent: id }, value })),
    },
    {
      name: 'flotilla_cost_unconfirmed_today_usd',
      kind: 'gauge',
      description: 'Part of what was spent today (UTC) that is booked as set aside, by agent, US dollars',
      samples: agents.map(({ id }) => ({
        labels: { agent: id },
        value: usdFromNano(
          parts.modelDoor.spend.total(agentScope(id), utcDay(systemClock.now())).unconfirmedNano,
        ),
      })),
    },
    {
      name: 'flotilla_denials_24h',
      kind: 'gauge',
      description: 'Calls denied in the last 24 hours by agent and action',
      samples: agents.flatMap(({ id }) =>
        Object.entries(parts.denials.last24Hours(id)).map(([action, value]) => ({
          labels: { agent: id, action },
          value,
        })),
      ),
    },
    ...modelMetrics(parts),
    {
      name: 'flotilla_blackboard_xproject_count',
      kind: 'counter',
      description: 'Uses of the part of the blackboard of a project that is not the own, by agent',
      samples: agents.flatMap(({ id }) =>
        Object.entries(parts.blackboard.crossProject.of(id)).map(([way, value]) => ({
          labels: { agent: id, way },
          value,
        })),
      ),
    },
    {
      name: 'flotilla_approvals_pending',
      kind: 'gauge',
      description: 'Actions that wait for a person',
      samples: [{ value: parts.control.approvals.pendingCount() }],
    },
    {
      name: 'flotilla_wall_holds',
      kind: 'gauge',
      description: '1 while the wall held when last tried',
      samples: walls.map(({ id, holds }) => ({ labels: { wall: id }, value: holds ? 1 : 0 })),
    },
    {
      name: 'flotilla_walls_checked_seconds',
      kind: 'gauge',
      description: 'When the walls were last tried, seconds since 1970',
      samples: checkedAt === null ? [] : [{ value: checkedAt / 1000 }],
    },
    ...egressMetrics(parts),
    {
      name: 'flotilla_notes_undelivered',
      kind: 'gauge',
      description: 'Outcomes that their asker has not heard yet',
      samples: [{ value: parts.ledger.outbox.open(undeliveredCountedMax).length }],
    },
  ]
}

function modelMetrics({ modelDoor }: MeshParts): readonly Metric[] {
  const watched = modelDoor.watch.list()
  const now = systemClock.now()
  return [
    {
      name: 'flotilla_model_calls_total',
      kind: 'counter',
      description: 'Calls that reached a model since the mesh started, by what came of them',
      samples: watched.flatMap(({ id: model, answered, failed }) => [
        { labels: { model, outcome: 'answered' }, value: answered },
        { labels: { model, outcome: 'failed' }, value: failed },
      ]),
    },
    {
      name: 'flotilla_model_cool_down_seconds',
      kind: 'gauge',
      description: 'Seconds that a model is still left alone',
      samples: watched.map(({ id: model, health }) => ({
        labels: { model },
        value: coolDownLeftMs(health, now) / 1000,
      })),
    },
  ]
}

/** Pairs of agent and host that are told, those with most traffic first. */
const toldHostsMax = 500

function egressMetrics({ egress }: MeshParts): readonly Metric[] {
  const rows = egress.counts.list(toldHostsMax)
  const samples = (valueOf: (row: (typeof rows)[number]) => number) =>
    rows.map((row) => ({ labels: { agent: row.agentId, host: row.host }, value: valueOf(row) }))
  return [
    {
      name: 'flotilla_proxy_connections_total',
      kind: 'counter',
      description: 'Connections made through the forward proxy by agent and host',
      samples: samples((row) => row.connections),
    },
    {
      name: 'flotilla_proxy_refused_total',
      kind: 'counter',
      description: 'Connections refused by the forward proxy by agent and host',
      samples: samples((row) => row.refused),
    },
    {
      name: 'flotilla_proxy_sent_bytes_total',
      kind: 'counter',
      description: 'Bytes sent to a host through the forward proxy by agent and host',
      samples: samples((row) => row.bytesOut),
    },
    {
      name: 'flotilla_proxy_received_bytes_total',
      kind: 'counter',
      description: 'Bytes received from a host through the forward proxy by agent and host',
      samples: samples((row) => row.bytesIn),
    },
    {
      name: 'flotilla_proxy_open',
      kind: 'gauge',
      description: 'Connections open through the forward proxy',
      samples: [{ value: egress.openPassages() }],
    },
  ]
}
