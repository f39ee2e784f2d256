import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { watchApi as api, watchEndpoints as endpoints } from '@flotilla/protocol/watch-api'
import type { Caller } from '../../access/caller.ts'
import { createBinder } from '../../http/bind-endpoint.ts'
import type { HumanGate } from '../../http/gates/people-gate.ts'

type Answer<Name extends keyof typeof api> = z.input<(typeof api)[Name]['response']>

/** What people see of the file watchers. */
export interface WatchUseCases {
  list(caller: Caller): Answer<'watchers'>
  check(caller: Caller): Promise<Answer<'watchersCheck'>>
  history(caller: Caller, limit: number): Answer<'watcherHistory'>
}

export function watchRoutes(
  scope: FastifyInstance,
  { gate, use }: { readonly gate: HumanGate; readonly use: WatchUseCases },
): void {
  const bind = createBinder(scope)
  scope.addHook('onRequest', async (request) => {
    gate(request)
  })
  bind(endpoints.watchers, api.watchers, async ({ raw }) => use.list(gate(raw)))
  bind(endpoints.watchersCheck, api.watchersCheck, async ({ raw }) => use.check(gate(raw)))
  bind(endpoints.watcherHistory, api.watcherHistory, async ({ raw, query }) =>
    use.history(gate(raw), query.limit),
  )
}
