import type { DeliveryView } from '@flotilla/protocol/webhook-api'
import type { DeliveryRow } from './delivery-table.ts'

/** Returns a history row in the form of the API. Pure. */
export function deliveryView(row: DeliveryRow): DeliveryView {
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
