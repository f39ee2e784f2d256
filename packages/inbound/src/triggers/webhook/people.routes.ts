import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { webhookApi as api, webhookEndpoints as endpoints } from '@flotilla/protocol/webhook-api'
import type { WebhookView } from '@flotilla/protocol/webhook-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import { deliveryView } from './delivery-view.ts'
import type { Hook } from './hook-table.ts'
import { hookView } from './hook-view.ts'
import type { Webhooks } from './webhooks.ts'

const hourMs = 3_600_000

export function webhookPeopleRoutes(
  { bind }: PeopleSurface,
  { webhooks: { manage, history, countsOf }, clock }: { readonly webhooks: Webhooks; readonly clock: Clock },
): void {
  const view = (hook: Hook): WebhookView => hookView(hook, countsOf(hook.id), clock.now())

  bind(endpoints.webhooks, api.webhooks, ({ caller }) => ({ webhooks: manage.list(caller).map(view) }))
  bind(endpoints.webhookCreate, api.webhookCreate, async ({ caller, body }) => {
    const { agent_id: agentId, per_minute: perMinute, ...rest } = body
    const { hook, secret } = await manage.create(caller, { ...rest, agentId, perMinute })
    return { webhook: view(hook), secret }
  })
  bind(endpoints.webhookChange, api.webhookChange, async ({ caller, params, body }) => {
    const { agent_id: agentId, per_minute: perMinute, ...rest } = body
    return view(await manage.change(caller, params.id, { ...rest, agentId, perMinute }))
  })
  bind(endpoints.webhookDelete, api.webhookDelete, async ({ caller, params }) => {
    await manage.remove(caller, params.id)
    return { deleted: params.id }
  })
  bind(endpoints.webhookRotate, api.webhookRotate, async ({ caller, params, body }) => {
    const overlapMs = body.overlap_hours * hourMs
    const { hook, secret } = await manage.rotate(caller, params.id, { secret: body.secret, overlapMs })
    return { webhook: view(hook), secret }
  })
  bind(endpoints.webhookDeliveries, api.webhookDeliveries, ({ caller, params, query }) => ({
    deliveries: history.list(caller, params.id, query).map(deliveryView),
  }))
  bind(endpoints.webhookTest, api.webhookTest, ({ caller, params, body }) =>
    deliveryView(history.test(caller, params.id, Buffer.from(JSON.stringify(body.payload)))),
  )
  bind(endpoints.webhookReplay, api.webhookReplay, ({ caller, params }) =>
    deliveryView(history.replay(caller, params.id, deliveryNumber(params.delivery))),
  )
}

function deliveryNumber(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new Problem('bad-request', { detail: 'the number of a delivery is an integer from 1' })
}
