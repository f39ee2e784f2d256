import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { operatorViewApi as api } from '@flotilla/protocol/operator-api'
import { operatorViewEndpoints as endpoints } from '@flotilla/protocol/operator-endpoints'
import type { Caller } from '../access/caller.ts'
import { createBinder } from '../http/bind-endpoint.ts'
import { guardOperatorScope } from '../http/gates/operator-gate.ts'
import type { OperatorGate } from '../http/gates/operator-gate.ts'

type Answer<Name extends keyof typeof api> = z.input<(typeof api)[Name]['response']>
type Query<Name extends 'staleTasks' | 'audit'> = z.output<(typeof api)[Name]['query']>

/** Figures of the fleet; each use case decides for itself whether the caller may. */
export interface OperatorViewUseCases {
  metrics(caller: Caller): Answer<'metrics'>
  agentMetrics(caller: Caller, agentId: string): Answer<'agentMetrics'>
  staleTasks(caller: Caller, query: Query<'staleTasks'>): Answer<'staleTasks'>
  audit(caller: Caller, query: Query<'audit'>): Answer<'audit'>
}

/** Stands on the agent door for the operator and on the people's port for programs of this machine. */
export function operatorViewRoutes(
  scope: FastifyInstance,
  { use, ...gate }: OperatorGate & { readonly use: OperatorViewUseCases },
): void {
  const bind = createBinder(scope)
  const callerOf = guardOperatorScope(scope, gate)

  bind(endpoints.metrics, api.metrics, async ({ raw }) => use.metrics(callerOf(raw)))
  bind(endpoints.agentMetrics, api.agentMetrics, async ({ raw, params }) =>
    use.agentMetrics(callerOf(raw), params['id'] ?? ''),
  )
  bind(endpoints.staleTasks, api.staleTasks, async ({ raw, query }) => use.staleTasks(callerOf(raw), query))
  bind(endpoints.audit, api.audit, async ({ raw, query }) => use.audit(callerOf(raw), query))
}
