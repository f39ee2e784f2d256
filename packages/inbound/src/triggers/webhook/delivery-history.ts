import type { Clock } from '@flotilla/protocol/clock'
import { notFound } from '@flotilla/protocol/not-found'
import { Problem } from '@flotilla/protocol/problem'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { DeliveryRow, DeliveryTable } from './delivery-table.ts'
import type { DeliveryToGive, GiveDelivery } from './give-delivery.ts'
import type { Hook, HookTable } from './hook-table.ts'
import { payloadText } from './payload-text.ts'
import { whySkipped } from './receive-hook.ts'
import { readPayload } from './read-payload.ts'
import type { RefusalStore } from './refusal-store.ts'

/** Operations of people on deliveries. Throws the Problems `denied`, `not-found` and those of `submitRun`. */
export interface DeliveryHistory {
  /** Returns deliveries, newest first. */
  list(
    caller: Caller,
    hookId: string,
    page: { readonly limit: number; readonly before?: number | undefined },
  ): readonly DeliveryRow[]
  /** Delivers a test payload of the owner. Ignores signature, rate limit and whether the webhook is enabled. */
  test(caller: Caller, hookId: string, payload: Uint8Array): DeliveryRow
  /** Repeats a delivery with the current instructions. Throws Problem `conflict` if its payload is gone. */
  replay(caller: Caller, hookId: string, number: number): DeliveryRow
}

export function createDeliveryHistory(deps: {
  readonly hooks: HookTable
  readonly deliveries: DeliveryTable
  readonly refusals: RefusalStore
  readonly give: GiveDelivery
  readonly guard: Guard
  readonly journal: Journal
  readonly clock: Clock
}): DeliveryHistory {
  const { deliveries, guard, clock } = deps

  function required(hookId: string): Hook {
    const hook = deps.hooks.find(hookId)
    if (hook) return hook
    throw notFound('webhook', `there is no webhook ${hookId}`)
  }

  function requiredDelivery(hookId: string, number: number): DeliveryRow {
    const row = deliveries.find(required(hookId).id, number)
    if (row) return row
    throw new Problem('not-found', { detail: `the history of ${hookId} has no delivery ${number}` })
  }

  function given(hook: Hook, delivery: DeliveryToGive): DeliveryRow {
    return requiredDelivery(hook.id, deps.give(hook, delivery).number)
  }

  function record(caller: Caller, action: string, row: DeliveryRow): DeliveryRow {
    deps.journal.append({
      actor: actorOf(caller),
      action,
      subject: row.hookId,
      detail: { delivery: row.number, replay_of: row.replayOf, run: row.runId },
    })
    return row
  }

  return {
    list(caller, hookId, { limit, before = Number.MAX_SAFE_INTEGER }) {
      guard(caller, { do: 'manage-webhooks' })
      deps.refusals.flush()
      return deliveries.page(required(hookId).id, { limit, before })
    },
    test(caller, hookId, body) {
      guard(caller, { do: 'make-webhooks' })
      const hook = required(hookId)
      const payload = readPayload(body)
      const delivery = {
        way: 'test',
        senderId: null,
        sizeBytes: body.length,
        replayOf: null,
        payload: payloadText(payload.text),
        at: clock.now(),
      } as const
      const reason = whySkipped(hook, payload)
      if (reason === null) return record(caller, 'webhook.tested', given(hook, delivery))
      const number = deliveries.insert({ ...delivery, hookId: hook.id, state: 'skipped', reason })
      return record(caller, 'webhook.tested', requiredDelivery(hook.id, number))
    },
    replay(caller, hookId, number) {
      guard(caller, { do: 'manage-webhooks' })
      const row = requiredDelivery(hookId, number)
      if (row.payload === null) {
        throw new Problem('conflict', {
          detail: `the payload of delivery ${number} is not stored; only payloads of accepted deliveries are, for a limited time`,
        })
      }
      const again = given(required(hookId), {
        way: 'replay',
        senderId: null,
        sizeBytes: row.sizeBytes,
        replayOf: number,
        payload: row.payload,
        at: clock.now(),
      })
      return record(caller, 'webhook.replayed', again)
    },
  }
}
