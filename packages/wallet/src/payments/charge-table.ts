import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import type { IntentRecord } from './intent-record.ts'

export type ChargeTable = ReturnType<typeof createChargeTable>

/** Stores the agents whose limits each payment counts against: its payer and all ancestors when it was signed. */
export function createChargeTable(database: Database) {
  const sumSince = (what: string, agentId: string, since: number): number =>
    z.object({ sum: z.number() }).parse(
      database
        .prepare(
          `SELECT ${what} AS sum
           FROM wallet_charges AS charge JOIN wallet_intents AS intent ON intent.id = charge.intent_id
           WHERE charge.agent_id = ? AND charge.signed_at >= ? AND given_back_at IS NULL`,
        )
        .get(agentId, since),
    ).sum

  return {
    /** Stores the agents that a payment is charged to. Joins the transaction that stores the payment. */
    add: ({ id, signedAt }: Pick<IntentRecord, 'id' | 'signedAt'>, chargedTo: readonly string[]): void => {
      const insert = database.prepare(
        'INSERT INTO wallet_charges (agent_id, signed_at, intent_id) VALUES (?, ?, ?)',
      )
      for (const agentId of chargedTo) insert.run(agentId, signedAt, id)
    },
    /** Returns what an agent and its descendants were charged since a time and not refunded, in micro-dollars. */
    chargedSince: (agentId: string, since: number): number =>
      sumSince('coalesce(sum(charged_micro_usd), 0)', agentId, since),
    countSince: (agentId: string, since: number): number => sumSince('count(*)', agentId, since),
  }
}
