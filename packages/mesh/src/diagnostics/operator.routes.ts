import {
  meshInternalApi as internalApi,
  meshInternalEndpoints as internalEndpoints,
} from '@flotilla/protocol/mesh-internal-api'
import { operatorApi, operatorViewApi as api } from '@flotilla/protocol/operator-api'
import { operatorEndpoints, operatorViewEndpoints as endpoints } from '@flotilla/protocol/operator-endpoints'
import type { Caller } from '../access/index.ts'
import type { AgentSurface, Surface } from '../http/index.ts'
import type { Figures } from './figures.ts'
import type { ReadOutJournal } from './read-out-journal.ts'

export function figureRoutes(
  { bind }: Surface<Caller>,
  { figures, journal }: { readonly figures: Figures; readonly journal: ReadOutJournal },
): void {
  bind(endpoints.metrics, api.metrics, ({ caller }) => figures.fleet(caller))
  bind(endpoints.agentMetrics, api.agentMetrics, ({ caller, params }) => figures.agent(caller, params.id))
  bind(endpoints.audit, api.audit, ({ caller, query }) => ({ rows: journal.audit(caller, query) }))
}

/** The operator's own list, with figures. */
export function operatorAgentRoutes({ bind }: AgentSurface, figures: Figures): void {
  bind(operatorEndpoints.agents, operatorApi.agents, ({ caller }) => ({ agents: figures.agents(caller) }))
}

export function internalRoutes({ bind }: Surface<Caller>, journal: ReadOutJournal): void {
  bind(internalEndpoints.journalVerify, internalApi.journalVerify, ({ caller }) => journal.verify(caller))
}
