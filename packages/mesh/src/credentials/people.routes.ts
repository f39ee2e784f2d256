import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { vaultHumanApi as api, vaultHumanEndpoints as endpoints } from '@flotilla/protocol/vault-api'
import type { Caller } from '../access/caller.ts'
import { createBinder } from '../http/bind-endpoint.ts'
import type { HumanGate } from '../http/gates/people-gate.ts'

type Answer<Name extends keyof typeof api> =
  | z.input<(typeof api)[Name]['response']>
  | Promise<z.input<(typeof api)[Name]['response']>>

/** What the owner does with credentials. */
export interface CredentialUseCases {
  list(caller: Caller): Answer<'credentials'>
  set(
    caller: Caller,
    input: { name: string; value: string; hosts?: readonly string[] | undefined },
  ): Answer<'credentialSet'>
  remove(caller: Caller, name: string): Answer<'credentialRemove'>
  bind(
    caller: Caller,
    input: { name: string; hosts: readonly string[]; note?: string | undefined },
  ): Answer<'credentialBind'>
  unbind(caller: Caller, name: string): Answer<'credentialUnbind'>
  requests(caller: Caller): Answer<'credentialRequests'>
  deny(caller: Caller, id: string, reason: string): Answer<'credentialRequestDeny'>
}

export function credentialRoutes(
  scope: FastifyInstance,
  { gate, use }: { readonly gate: HumanGate; readonly use: CredentialUseCases },
): void {
  const bind = createBinder(scope)
  // Before the body is read: a page of another origin is told nothing of what it should have sent.
  scope.addHook('onRequest', async (request) => {
    gate(request)
  })
  const name = (params: Readonly<Record<string, string>>) => params['name'] ?? ''

  bind(endpoints.credentials, api.credentials, async ({ raw }) => use.list(gate(raw)))
  bind(endpoints.credentialSet, api.credentialSet, async ({ raw, params, body }) =>
    use.set(gate(raw), { name: name(params), ...body }),
  )
  bind(endpoints.credentialRemove, api.credentialRemove, async ({ raw, params }) =>
    use.remove(gate(raw), name(params)),
  )
  bind(endpoints.credentialBind, api.credentialBind, async ({ raw, params, body }) =>
    use.bind(gate(raw), { name: name(params), ...body }),
  )
  bind(endpoints.credentialUnbind, api.credentialUnbind, async ({ raw, params }) =>
    use.unbind(gate(raw), name(params)),
  )
  bind(endpoints.credentialRequests, api.credentialRequests, async ({ raw }) => use.requests(gate(raw)))
  bind(endpoints.credentialRequestDeny, api.credentialRequestDeny, async ({ raw, params, body }) =>
    use.deny(gate(raw), params['id'] ?? '', body.reason),
  )
}
