import { fillPath } from '@flotilla/protocol/endpoint'
import { webhookPublicEndpoints } from '@flotilla/protocol/webhook-api'
import type { WebhookView } from '@flotilla/protocol/webhook-api'
import type { DeliveryTable } from './delivery-table.ts'
import type { Hook } from './hook-table.ts'

/** Returns a webhook in the form of the API. The previous secret is shown only while it is valid. Pure. */
export function hookView(
  hook: Hook,
  { counts, lastAt }: ReturnType<DeliveryTable['countsOf']>,
  now: number,
): WebhookView {
  const { previousUntil } = hook
  return {
    id: hook.id,
    name: hook.name,
    agent_id: hook.agentId,
    path: fillPath(webhookPublicEndpoints.webhookReceive.path, { hook_id: hook.id }),
    instructions: hook.instructions,
    when: hook.when,
    per_minute: hook.perMinute,
    enabled: hook.enabled,
    repeats: hook.repeats,
    signed: hook.secretNumber !== null,
    previous_secret_until: previousUntil !== null && previousUntil > now ? previousUntil : null,
    created_at: hook.createdAt,
    counts,
    last_delivery_at: lastAt,
  }
}
