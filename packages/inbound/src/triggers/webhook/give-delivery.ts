import { unattendedSession } from '@flotilla/protocol/unattended-session'
import type { Caller } from '@flotilla/identity/access'
import type { SubmitRun } from '@flotilla/work/runs'
import type { Database } from '@flotilla/foundation/storage'
import type { DeliveryTable, NewDelivery } from './delivery-table.ts'
import { hookMessage } from './hook-message.ts'
import type { Hook } from './hook-table.ts'

export interface DeliveryToGive extends Pick<
  NewDelivery,
  'way' | 'senderId' | 'digest' | 'sizeBytes' | 'replayOf' | 'at'
> {
  readonly payload: string
}

/** Stores the delivery and its run in one transaction. Throws the Problems of `submitRun`. */
export type GiveDelivery = (
  hook: Hook,
  delivery: DeliveryToGive,
) => { readonly number: number; readonly runId: string }

/** The mesh is the caller of the run, because the sender of a webhook has no identity in the permissions. */
const mesh: Caller = { kind: 'system' }

export function createGiveDelivery(deps: {
  readonly database: Database
  readonly deliveries: DeliveryTable
  readonly submitRun: SubmitRun
}): GiveDelivery {
  const { database, deliveries } = deps
  return (hook, delivery) =>
    database.transaction(() => {
      const number = deliveries.insert({ ...delivery, hookId: hook.id, state: 'accepted' })
      const run = deps.submitRun(mesh, {
        agentId: hook.agentId,
        // Each webhook has its own session, so that the data of different senders is not mixed.
        input: {
          kind: 'chat',
          message: hookMessage(hook, delivery),
          session: unattendedSession.webhook(hook.id),
        },
        trigger: 'webhook',
        triggerId: hook.id,
        requestedByPerson: delivery.way !== 'sender',
        idempotencyKey: `delivery:${hook.id}:${number}`,
      })
      deliveries.setRun(number, run.id)
      return { number, runId: run.id }
    })
}
