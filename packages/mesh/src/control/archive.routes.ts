import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { operatorArchiveApi as api } from '@flotilla/protocol/operator-api'
import { operatorArchiveEndpoints as endpoints } from '@flotilla/protocol/operator-endpoints'
import type { Caller } from '../access/caller.ts'
import { createBinder } from '../http/bind-endpoint.ts'
import { guardOperatorScope } from '../http/gates/operator-gate.ts'
import type { OperatorGate } from '../http/gates/operator-gate.ts'

type Answer<Name extends keyof typeof api> = z.input<(typeof api)[Name]['response']>

/** Agents that are put away; each use case decides for itself whether the caller may. Both writes may come twice. */
export interface OperatorArchiveUseCases {
  archived(caller: Caller): Answer<'archived'>
  archive(caller: Caller, agentId: string): Promise<Answer<'archive'>>
  unarchive(caller: Caller, agentId: string): Answer<'unarchive'>
}

/** Stands on the agent door for the operator and on the people's port for programs of this machine. */
export function operatorArchiveRoutes(
  scope: FastifyInstance,
  { use, ...gate }: OperatorGate & { readonly use: OperatorArchiveUseCases },
): void {
  const bind = createBinder(scope)
  const callerOf = guardOperatorScope(scope, gate)

  bind(endpoints.archived, api.archived, async ({ raw }) => use.archived(callerOf(raw)))
  bind(endpoints.archive, api.archive, async ({ raw, params }) =>
    use.archive(callerOf(raw), params['id'] ?? ''),
  )
  bind(endpoints.unarchive, api.unarchive, async ({ raw, params }) =>
    use.unarchive(callerOf(raw), params['id'] ?? ''),
  )
}
