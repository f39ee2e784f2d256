import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { Problem } from '@flotilla/protocol/problem'
import { webhookApi as api, webhookEndpoints as endpoints } from '@flotilla/protocol/webhook-api'
import type { Caller } from '../../access/caller.ts'
import { createBinder } from '../../http/bind-endpoint.ts'
import type { HumanGate } from '../../http/gates/people-gate.ts'

type Body<Name extends 'webhookCreate' | 'webhookChange' | 'webhookTest' | 'webhookRotate'> = z.output<
  (typeof api)[Name]['request']
>
type Answer<Name extends keyof typeof api> =
  | z.input<(typeof api)[Name]['response']>
  | Promise<z.input<(typeof api)[Name]['response']>>

/** What people do with webhooks. */
export interface WebhookHumanUseCases {
  list(caller: Caller): Answer<'webhooks'>
  create(caller: Caller, body: Body<'webhookCreate'>): Answer<'webhookCreate'>
  change(caller: Caller, id: string, body: Body<'webhookChange'>): Answer<'webhookChange'>
  remove(caller: Caller, id: string): Answer<'webhookDelete'>
  test(caller: Caller, id: string, body: Body<'webhookTest'>): Answer<'webhookTest'>
  rotate(caller: Caller, id: string, body: Body<'webhookRotate'>): Answer<'webhookRotate'>
  deliveries(
    caller: Caller,
    id: string,
    query: z.output<(typeof api)['webhookDeliveries']['query']>,
  ): Answer<'webhookDeliveries'>
  replay(caller: Caller, id: string, delivery: number): Answer<'webhookReplay'>
}

export function webhookHumanRoutes(
  scope: FastifyInstance,
  { gate, use }: { readonly gate: HumanGate; readonly use: WebhookHumanUseCases },
): void {
  const bind = createBinder(scope)
  // Before the body is read: a page of another origin is told nothing of what it should have sent.
  scope.addHook('onRequest', async (request) => {
    gate(request)
  })
  const id = (params: Readonly<Record<string, string>>) => params['id'] ?? ''

  bind(endpoints.webhooks, api.webhooks, async ({ raw }) => use.list(gate(raw)))
  bind(endpoints.webhookCreate, api.webhookCreate, async ({ raw, body }) => use.create(gate(raw), body))
  bind(endpoints.webhookChange, api.webhookChange, async ({ raw, params, body }) =>
    use.change(gate(raw), id(params), body),
  )
  bind(endpoints.webhookDelete, api.webhookDelete, async ({ raw, params }) =>
    use.remove(gate(raw), id(params)),
  )
  bind(endpoints.webhookTest, api.webhookTest, async ({ raw, params, body }) =>
    use.test(gate(raw), id(params), body),
  )
  bind(endpoints.webhookRotate, api.webhookRotate, async ({ raw, params, body }) =>
    use.rotate(gate(raw), id(params), body),
  )
  bind(endpoints.webhookDeliveries, api.webhookDeliveries, async ({ raw, params, query }) =>
    use.deliveries(gate(raw), id(params), query),
  )
  bind(endpoints.webhookReplay, api.webhookReplay, async ({ raw, params }) =>
    use.replay(gate(raw), id(params), deliveryNumber(params['delivery'] ?? '')),
  )
}

function deliveryNumber(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new Problem('bad-request', { detail: 'the number of a delivery is a whole number from 1 on' })
}
