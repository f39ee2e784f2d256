import { intentStates } from '@flotilla/protocol/wallet-payments'
import type { IntentState } from '@flotilla/protocol/wallet-payments'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import { jsonColumn } from '@flotilla/foundation/storage'
import type { Effects } from '../chain/paying-chain.ts'
import type { IntentRecord } from './intent-record.ts'
import { addressKey } from '../chain/address-key.ts'

const placeSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('nonce'), nonce: z.number() }),
  z.strictObject({ kind: z.literal('expiring'), blockhash: z.string(), lastHeight: z.number() }),
])

const rawSchema = z.string().transform((digits) => BigInt(digits))
const effectsSchema = z
  .strictObject({
    changes: z.array(z.strictObject({ asset: z.string().nullable(), raw: rawSchema })),
    payees: z.array(z.string()),
    grants: z.array(
      z.strictObject({ asset: z.string(), spender: z.string(), raw: rawSchema, unlimited: z.boolean() }),
    ),
  })
  .nullable()

/** Serializes effects with amounts as digits. */
export function effectsText(effects: Effects | null): string {
  return JSON.stringify(effects, (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
}

export const effectsColumn = jsonColumn(effectsSchema)

const rowSchema = z
  .object({
    id: z.string(),
    key: z.string(),
    agent_id: z.string(),
    run_id: z.string().nullable(),
    approved_by: z.string().nullable(),
    chain: z.string(),
    sender: z.string(),
    recipient: z.string(),
    place: jsonColumn(placeSchema),
    tx_id: z.string(),
    signed_bytes: z.string(),
    cancel_fee_micro_usd: z.number().nullable(),
    words: z.string(),
    effects: effectsColumn,
    payees: jsonColumn(z.array(z.string())),
    does: z.string().nullable(),
    charged_micro_usd: z.number(),
    signed_at: z.number(),
    state: z.enum(intentStates),
    block: z.number().nullable(),
    note: z.string(),
    looks: z.number(),
    next_look_at: z.number(),
    ended_at: z.number().nullable(),
    given_back_at: z.number().nullable(),
  })
  .transform((row): IntentRecord => ({
    id: row.id,
    key: row.key,
    agentId: row.agent_id,
    runId: row.run_id,
    approvedBy: row.approved_by,
    chain: row.chain,
    sender: row.sender,
    recipient: row.recipient,
    place: row.place,
    txId: row.tx_id,
    signedBytes: row.signed_bytes,
    cancelFeeMicroUsd: row.cancel_fee_micro_usd,
    words: row.words,
    effects: row.effects,
    payees: row.payees,
    does: row.does,
    chargedMicroUsd: row.charged_micro_usd,
    signedAt: row.signed_at,
    state: row.state,
    block: row.block,
    note: row.note,
    polls: row.looks,
    nextPollAt: row.next_look_at,
    endedAt: row.ended_at,
    givenBackAt: row.given_back_at,
  }))

export type IntentTable = ReturnType<typeof createIntentTable>

export function createIntentTable(database: Database) {
  const one = (row: unknown): IntentRecord | null => (row ? rowSchema.parse(row) : null)
  const number = (row: unknown): number => z.object({ number: z.number() }).parse(row).number
  return {
    find: (id: string) => one(database.prepare('SELECT * FROM wallet_intents WHERE id = ?').get(id)),
    findByKey: (key: string) => one(database.prepare('SELECT * FROM wallet_intents WHERE key = ?').get(key)),
    insert: (intent: IntentRecord): void => {
      database
        .prepare(
          `INSERT INTO wallet_intents (id, key, agent_id, run_id, approved_by, chain, sender, recipient, place, nonce,
             tx_id, signed_bytes, cancel_fee_micro_usd, words, effects, payees, does, charged_micro_usd, signed_at, state, block, note, looks, next_look_at, ended_at, given_back_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(
          intent.id,
          intent.key,
          intent.agentId,
          intent.runId,
          intent.approvedBy,
          intent.chain,
          intent.sender,
          intent.recipient,
          JSON.stringify(intent.place),
          intent.place.kind === 'nonce' ? intent.place.nonce : null,
          intent.txId,
          intent.signedBytes,
          intent.cancelFeeMicroUsd,
          intent.words,
          effectsText(intent.effects),
          JSON.stringify(intent.payees),
          intent.does,
          intent.chargedMicroUsd,
          intent.signedAt,
          intent.state,
          intent.block,
          intent.note,
          intent.polls,
          intent.nextPollAt,
          intent.endedAt,
          intent.givenBackAt,
        )
    },
    /** Updates the fields that may change; the others stay as signed. */
    update: (intent: IntentRecord): void => {
      database
        .prepare(
          `UPDATE wallet_intents SET tx_id = ?, signed_bytes = ?, cancel_fee_micro_usd = ?, charged_micro_usd = ?, state = ?,
             block = ?, note = ?, looks = ?, next_look_at = ?, ended_at = ?, given_back_at = ? WHERE id = ?`,
        )
        .run(
          intent.txId,
          intent.signedBytes,
          intent.cancelFeeMicroUsd,
          intent.chargedMicroUsd,
          intent.state,
          intent.block,
          intent.note,
          intent.polls,
          intent.nextPollAt,
          intent.endedAt,
          intent.givenBackAt,
          intent.id,
        )
    },
    /** Returns unfinished payments that are due for a check, the longest due first. */
    due: (now: number, limit: number): readonly IntentRecord[] =>
      database
        .prepare(
          `SELECT * FROM wallet_intents WHERE ended_at IS NULL AND next_look_at <= ? ORDER BY next_look_at LIMIT ?`,
        )
        .all(now, limit)
        .map((row) => rowSchema.parse(row)),
    /** Returns payments, newest first. */
    list: ({ agentId, limit }: { readonly agentId: string | undefined; readonly limit: number }) =>
      (agentId === undefined
        ? database
            .prepare('SELECT * FROM wallet_intents ORDER BY signed_at DESC, rowid DESC LIMIT ?')
            .all(limit)
        : database
            .prepare(
              'SELECT * FROM wallet_intents WHERE agent_id = ? ORDER BY signed_at DESC, rowid DESC LIMIT ?',
            )
            .all(agentId, limit)
      ).map((row) => rowSchema.parse(row)),
    openOf: (chain: string, sender: string): number =>
      number(
        database
          .prepare(
            'SELECT count(*) AS number FROM wallet_intents WHERE chain = ? AND sender = ? AND ended_at IS NULL',
          )
          .get(chain, sender),
      ),
    countOf: (state: IntentState): number =>
      number(database.prepare('SELECT count(*) AS number FROM wallet_intents WHERE state = ?').get(state)),
    openCount: (): number =>
      number(database.prepare('SELECT count(*) AS number FROM wallet_intents WHERE ended_at IS NULL').get()),
    /** Returns the next nonce by this home's records; null if this home never used a nonce of the address. */
    nextNonce: (chain: string, sender: string): number | null => {
      const row = database
        .prepare('SELECT next_nonce AS number FROM wallet_nonces WHERE chain = ? AND sender = ?')
        .get(chain, sender)
      return row ? number(row) : null
    },
    setNextNonce: (chain: string, sender: string, next: number): void => {
      database
        .prepare(
          `INSERT INTO wallet_nonces (chain, sender, next_nonce) VALUES (?, ?, ?)
           ON CONFLICT (chain, sender) DO UPDATE SET next_nonce = max(next_nonce, excluded.next_nonce)`,
        )
        .run(chain, sender, next)
    },
    isKnownPayee: (chain: string, address: string): boolean =>
      database
        .prepare('SELECT 1 FROM wallet_payees WHERE chain = ? AND address = ?')
        .get(chain, addressKey(address)) !== undefined,
    /** Returns some of the addresses that were paid before on a chain. */
    knownPayees: (chain: string, limit: number): readonly string[] =>
      database
        .prepare('SELECT address FROM wallet_payees WHERE chain = ? LIMIT ?')
        .all(chain, limit)
        .map((row) => z.object({ address: z.string() }).parse(row).address),
    knowPayee: (chain: string, address: string): void => {
      database
        .prepare('INSERT OR IGNORE INTO wallet_payees (chain, address) VALUES (?, ?)')
        .run(chain, addressKey(address))
    },
    /** Returns why the wallet signs no payments; null if it is not stopped. */
    stopped: (): string | null => {
      const row = database.prepare('SELECT reason FROM wallet_stop').get()
      return row ? z.object({ reason: z.string() }).parse(row).reason : null
    },
    /** Stops the wallet; the first reason is kept. */
    stop: (reason: string, at: number): void => {
      database.prepare('INSERT OR IGNORE INTO wallet_stop (one, reason, at) VALUES (1, ?, ?)').run(reason, at)
    },
    /** Ends the stop of the wallet, so that it signs payments again. */
    resume: (): void => {
      database.exec('DELETE FROM wallet_stop')
    },
    /** Deletes the stored nonces: the next payment uses the chain's nonce, even if another program used some. */
    forgetNonces: (): void => {
      database.exec('DELETE FROM wallet_nonces')
    },
    highestNonce: (chain: string, sender: string): number | null =>
      z
        .object({ number: z.number().nullable() })
        .parse(
          database
            .prepare(
              'SELECT max(nonce) AS number FROM wallet_intents WHERE chain = ? AND sender = ? AND state != ?',
            )
            .get(chain, sender, 'replaced'),
        ).number,
  }
}
