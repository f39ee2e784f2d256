import {
  meshInternalApi as internalApi,
  meshInternalEndpoints as internalEndpoints,
} from '@flotilla/protocol/mesh-internal-api'
import { operatorApi, operatorViewApi as api } from '@flotilla/protocol/operator-api'
import { operatorEndpoints, operatorViewEndpoints as endpoints } from '@flotilla/protocol/operator-endpoints'
import type { Caller } from '@flotilla/identity/access'
import type { AgentSurface, Surface } from '@flotilla/identity/http'
import type { FleetStats } from './fleet-stats.ts'
import type { ReadOutJournal } from './read-out-journal.ts'

export function fleetStatsRoutes(
  { bind }: Surface<Caller>,
  { stats, journal }: { readonly stats: FleetStats; readonly journal: ReadOutJournal },
): void {
  bind(endpoints.metrics, api.metrics, ({ caller }) => stats.fleet(caller))
  bind(endpoints.agentMetrics, api.agentMetrics, ({ caller, params }) => stats.agent(caller, params.id))
  bind(endpoints.audit, api.audit, ({ caller, query }) => ({ rows: journal.audit(caller, query) }))
}

/** The operator's list of agents, with statistics. */
export function operatorAgentRoutes({ bind }: AgentSurface, stats: FleetStats): void {
  bind(operatorEndpoints.agents, operatorApi.agents, ({ caller }) => ({ agents: stats.agents(caller) }))
}

export function internalRoutes({ bind }: Surface<Caller>, journal: ReadOutJournal): void {
  bind(internalEndpoints.journalVerify, internalApi.journalVerify, ({ caller }) => journal.verify(caller))
}
