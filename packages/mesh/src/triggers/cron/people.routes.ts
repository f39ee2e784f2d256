import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { cronHumanApi as api, cronHumanEndpoints as endpoints } from '@flotilla/protocol/cron-api'
import type { CronChange, NewCronJob } from '@flotilla/protocol/cron-api'
import type { Caller } from '../../access/caller.ts'
import { createBinder } from '../../http/bind-endpoint.ts'
import { clientGone } from '../../http/client-gone.ts'
import type { HumanGate } from '../../http/gates/people-gate.ts'

type Answer<Name extends keyof typeof api> =
  | z.input<(typeof api)[Name]['response']>
  | Promise<z.input<(typeof api)[Name]['response']>>

/** What people do with jobs; each use case decides for itself whether the caller may. */
export interface CronHumanUseCases {
  list(caller: Caller, agentId?: string): Answer<'cronJobs'>
  create(caller: Caller, job: NewCronJob, signal: AbortSignal): Answer<'cronCreate'>
  update(caller: Caller, input: { id: string; change: CronChange }, signal: AbortSignal): Answer<'cronUpdate'>
  remove(caller: Caller, id: string): Answer<'cronRemove'>
  run(caller: Caller, id: string): Answer<'cronRun'>
  history(caller: Caller, id: string, limit: number): Answer<'cronHistory'>
}

export function cronRoutes(
  scope: FastifyInstance,
  { gate, use }: { readonly gate: HumanGate; readonly use: CronHumanUseCases },
): void {
  const bind = createBinder(scope)
  // Before the body is read: a page of another origin is told nothing of what it should have sent.
  scope.addHook('onRequest', async (request) => {
    gate(request)
  })
  const id = (params: Readonly<Record<string, string>>) => params['id'] ?? ''

  bind(endpoints.cronJobs, api.cronJobs, async ({ raw, query }) => use.list(gate(raw), query.agent))
  bind(endpoints.cronCreate, api.cronCreate, async ({ raw, reply, body }) =>
    use.create(gate(raw), body, clientGone(reply)),
  )
  bind(endpoints.cronUpdate, api.cronUpdate, async ({ raw, reply, params, body }) =>
    use.update(gate(raw), { id: id(params), change: body }, clientGone(reply)),
  )
  bind(endpoints.cronRemove, api.cronRemove, async ({ raw, params }) => use.remove(gate(raw), id(params)))
  bind(endpoints.cronRun, api.cronRun, async ({ raw, params }) => use.run(gate(raw), id(params)))
  bind(endpoints.cronHistory, api.cronHistory, async ({ raw, params, query }) =>
    use.history(gate(raw), id(params), query.limit),
  )
}
