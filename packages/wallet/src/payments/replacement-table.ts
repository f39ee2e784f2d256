import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import type { IntentRecord, Superseded } from './intent-record.ts'

const rowSchema = z
  .object({
    tx_id: z.string(),
    signed_bytes: z.string(),
    fee_raw: z.string().transform(BigInt),
    cancel_fee_micro_usd: z.number().nullable(),
  })
  .transform((row): Superseded => ({
    txId: row.tx_id,
    signedBytes: row.signed_bytes,
    feeRaw: row.fee_raw,
    cancelFeeMicroUsd: row.cancel_fee_micro_usd,
  }))

export type ReplacementTable = ReturnType<typeof createReplacementTable>

/** Earlier signatures of a payment. */
export function createReplacementTable(database: Database) {
  return {
    /** Returns superseded signatures, oldest first. */
    supersededBy: (intentId: string): readonly Superseded[] =>
      database
        .prepare('SELECT * FROM wallet_superseded WHERE intent_id = ? ORDER BY number')
        .all(intentId)
        .map((row) => rowSchema.parse(row)),
    /** Stores a superseded signature. `before` is the payment with that signature. */
    supersede: (before: IntentRecord, feeRaw: bigint): void => {
      database
        .prepare(
          `INSERT INTO wallet_superseded (intent_id, number, tx_id, signed_bytes, fee_raw, cancel_fee_micro_usd)
           VALUES (?1, (SELECT count(*) FROM wallet_superseded WHERE intent_id = ?1), ?2, ?3, ?4, ?5)`,
        )
        .run(before.id, before.txId, before.signedBytes, String(feeRaw), before.cancelFeeMicroUsd)
    },
  }
}
