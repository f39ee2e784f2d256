import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { controlApi as api, controlEndpoints as endpoints } from '@flotilla/protocol/control-api'
import { headers } from '@flotilla/protocol/headers'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller } from '../access/caller.ts'
import { createBinder } from '../http/bind-endpoint.ts'
import type { HumanGate } from '../http/gates/people-gate.ts'

type Api = typeof api
type Answer<Name extends keyof Api> = z.input<Api[Name]['response']> | Promise<z.input<Api[Name]['response']>>
type Query<Name extends 'permissionsExplain' | 'changes' | 'pending'> = z.output<Api[Name]['query']>
type Body<Name extends 'agentEdit' | 'pendingConfirm'> = z.output<Api[Name]['request']>

/** Use cases of people about permissions, changes and what waits for them. */
export interface ControlUseCases {
  agentConfig(caller: Caller, agentId: string): Answer<'agentConfig'>
  editAgent(
    caller: Caller,
    agentId: string,
    asked: { edit: Body<'agentEdit'>; idempotencyKey?: string },
  ): Answer<'agentEdit'>
  deleteAgent(caller: Caller, agentId: string): Answer<'agentDelete'>
  archiveAgent(caller: Caller, agentId: string): Answer<'agentArchive'>
  unarchiveAgent(caller: Caller, agentId: string): Answer<'agentUnarchive'>
  explain(caller: Caller, agentId: string, query: Query<'permissionsExplain'>): Answer<'permissionsExplain'>
  changes(caller: Caller, query: Query<'changes'>): Answer<'changes'>
  undo(caller: Caller, token: string): Answer<'changeUndo'>
  pending(caller: Caller, query: Query<'pending'>): Answer<'pending'>
  pendingOne(caller: Caller, id: string): Answer<'pendingOne'>
  confirm(caller: Caller, confirmation: Body<'pendingConfirm'> & { id: string }): Answer<'pendingConfirm'>
  cancel(caller: Caller, id: string): Answer<'pendingCancel'>
}

export interface ControlRoutesDeps {
  readonly gate: HumanGate
  readonly use: ControlUseCases
}

export function controlRoutes(scope: FastifyInstance, { gate, use }: ControlRoutesDeps): void {
  const bind = createBinder(scope)
  // Before the body is read: a page of another origin is told nothing of what it should have sent.
  scope.addHook('onRequest', async (request) => {
    gate(request)
  })

  bind(endpoints.agentConfig, api.agentConfig, async ({ raw, params }) =>
    use.agentConfig(gate(raw), params['id'] ?? ''),
  )
  bind(endpoints.agentEdit, api.agentEdit, async ({ raw, params, body }) => {
    const key = raw.headers[headers.idempotencyKey]
    if (key !== undefined && (typeof key !== 'string' || key.length > 200)) {
      throw new Problem('bad-request', { detail: `${headers.idempotencyKey} has at most 200 characters` })
    }
    const asked = { edit: body, ...(key === undefined ? {} : { idempotencyKey: key }) }
    return use.editAgent(gate(raw), params['id'] ?? '', asked)
  })
  bind(endpoints.agentDelete, api.agentDelete, async ({ raw, params }) =>
    use.deleteAgent(gate(raw), params['id'] ?? ''),
  )
  bind(endpoints.agentArchive, api.agentArchive, async ({ raw, params }) =>
    use.archiveAgent(gate(raw), params['id'] ?? ''),
  )
  bind(endpoints.agentUnarchive, api.agentUnarchive, async ({ raw, params }) =>
    use.unarchiveAgent(gate(raw), params['id'] ?? ''),
  )
  bind(endpoints.permissionsExplain, api.permissionsExplain, async ({ raw, params, query }) =>
    use.explain(gate(raw), params['id'] ?? '', query),
  )
  bind(endpoints.changes, api.changes, async ({ raw, query }) => use.changes(gate(raw), query))
  bind(endpoints.changeUndo, api.changeUndo, async ({ raw, params }) =>
    use.undo(gate(raw), params['token'] ?? ''),
  )
  bind(endpoints.pending, api.pending, async ({ raw, query }) => use.pending(gate(raw), query))
  bind(endpoints.pendingOne, api.pendingOne, async ({ raw, params }) =>
    use.pendingOne(gate(raw), params['id'] ?? ''),
  )
  bind(endpoints.pendingConfirm, api.pendingConfirm, async ({ raw, params, body }) =>
    use.confirm(gate(raw), { ...body, id: params['id'] ?? '' }),
  )
  bind(endpoints.pendingCancel, api.pendingCancel, async ({ raw, params }) =>
    use.cancel(gate(raw), params['id'] ?? ''),
  )
}
