import { randomBytes } from 'node:crypto'
import { fillPath } from '@flotilla/protocol/endpoint'
import { webhookPublicEndpoints } from '@flotilla/protocol/webhook-api'
import type { DeliveryView, WebhookView } from '@flotilla/protocol/webhook-api'
import type { WebhookHumanUseCases } from '../triggers/webhook/people.routes.ts'
import type { WebhookUseCases } from '../triggers/webhook/public.routes.ts'
import { systemClock } from '../platform/system-clock.ts'
import { bodyTooLarge } from '../triggers/webhook/delivery-head.ts'
import type { DeliveryRow } from '../triggers/webhook/delivery-table.ts'
import type { Hook } from '../triggers/webhook/hook-table.ts'
import { createWebhooks } from '../triggers/webhook/webhooks.ts'
import type { Webhooks, WebhooksDeps } from '../triggers/webhook/webhooks.ts'

const hourMs = 3_600_000

export function composeWebhooks(parts: Omit<WebhooksDeps, 'clock' | 'randomBytes'>): Webhooks {
  return createWebhooks({ ...parts, clock: systemClock, randomBytes })
}

/** Webhooks in the words of the public door. */
export function webhookUseCases({ receive }: Webhooks): WebhookUseCases {
  return { open: receive, bodyTooLarge }
}

/** Webhooks in the words of the people's door. */
export function webhookHumanUseCases(webhooks: Webhooks): WebhookHumanUseCases {
  const { manage, history } = webhooks
  const viewOf = (hook: Hook): WebhookView => hookView(webhooks, hook)
  return {
    list: (caller) => ({ webhooks: manage.list(caller).map(viewOf) }),
    create: async (caller, body) => {
      const { hook, secret } = await manage.create(caller, {
        name: body.name,
        agentId: body.agent_id,
        instructions: body.instructions,
        when: body.when,
        perMinute: body.per_minute,
        signed: body.signed,
        repeats: body.repeats,
        secret: body.secret,
      })
      return { webhook: viewOf(hook), secret }
    },
    change: async (caller, id, { agent_id, per_minute, ...rest }) =>
      viewOf(
        await manage.change(caller, id, {
          ...rest,
          agentId: agent_id,
          perMinute: per_minute,
        }),
      ),
    remove: async (caller, id) => {
      await manage.remove(caller, id)
      return { deleted: id }
    },
    rotate: async (caller, id, body) => {
      const overlapMs = body.overlap_hours * hourMs
      const { hook, secret } = await manage.rotate(caller, id, { secret: body.secret, overlapMs })
      return { webhook: viewOf(hook), secret }
    },
    deliveries: (caller, id, page) => ({ deliveries: history.list(caller, id, page).map(deliveryView) }),
    test: (caller, id, { payload }) =>
      deliveryView(history.test(caller, id, Buffer.from(JSON.stringify(payload)))),
    replay: (caller, id, delivery) => deliveryView(history.replay(caller, id, delivery)),
  }
}

function hookView({ countsOf }: Webhooks, hook: Hook): WebhookView {
  const { counts, lastAt } = countsOf(hook.id)
  const until =
    hook.previousUntil !== null && hook.previousUntil > systemClock.now() ? hook.previousUntil : null
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
    previous_secret_until: until,
    created_at: hook.createdAt,
    counts,
    last_delivery_at: lastAt,
  }
}

function deliveryView(row: DeliveryRow): DeliveryView {
  return {
    delivery: row.number,
    hook_id: row.hookId,
    way: row.way,
    state: row.state,
    code: row.code,
    reason: row.reason,
    sender_id: row.senderId,
    size_bytes: row.sizeBytes,
    count: row.count,
    run_id: row.runId,
    outcome: row.outcome,
    replay_of: row.replayOf,
    replayable: row.payload !== null,
    payload: row.payload,
    at: row.at,
    settled_at: row.settledAt,
  }
}
