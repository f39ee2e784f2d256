import type { agentSummarySchema } from '@flotilla/protocol/mesh-agent-api'
import type * as z from 'zod'
import type { Action, Caller, Decision, Guard } from '@flotilla/identity/access'
import type { FleetEvents } from '../../events/index.ts'
import { isForGood, restOf } from './agent-state.ts'
import type { AgentState } from './agent-state.ts'
import type { AgentTable } from './agent-table.ts'

export type AgentSummary = z.infer<typeof agentSummarySchema>

/** Lists the agents that the caller may message, by id; people see all. An agent does not see itself. */
export function listAgents(deps: {
  readonly guard: Guard
  readonly decide: (caller: Caller, action: Action) => Decision
  readonly agents: AgentTable
  readonly fleetEvents: Pick<FleetEvents, 'agentCapabilities'>
}): (caller: Caller) => readonly AgentSummary[] {
  return (caller) => {
    deps.guard(caller, { do: 'list-agents' })
    return deps.agents
      .list()
      .filter(({ record }) => caller.kind !== 'agent' || caller.agentId !== record.id)
      .filter(({ state }) => !isPutAway(state))
      .filter(({ record }) => deps.decide(caller, { do: 'message-agent', to: record.id }).allowed)
      .map(({ record, state }) => ({
        id: record.id,
        kind: record.kind,
        role: record.role,
        state: state.kind,
        capabilities: [...deps.fleetEvents.agentCapabilities.ask(record.id)],
      }))
  }
}

function isPutAway(state: AgentState): boolean {
  const rest = restOf(state)
  return rest !== null && isForGood(rest)
}
