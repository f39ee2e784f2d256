import type { JsonObject } from '@flotilla/protocol/json-value'
import { intentStates } from '@flotilla/protocol/wallet-payments'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'

/** How far back equal payments are searched for the person who approves, in hours. */
const repeatHours = 24
/** The maximum number of equal payments that one query reads; far above the hourly rate limit. */
const readMax = 100
/** How many signed and how many pending payments are named; the others are counted. */
const namedMax = 5

/** An equal payment that was signed: the same chain, destination, token and amount. */
interface SignedBefore {
  readonly id: string
  readonly agentId: string
  readonly state: string
  readonly signedAt: number
}

/** An equal payment that waits for a decision or is being carried out. */
export interface WaitingBefore {
  readonly id: string
  readonly requester: string
  readonly createdAt: number
  readonly args: JsonObject
}

/** Returns one sentence for each equal payment of the last day, for the person who approves. Pure. */
function repeatWords(signed: readonly SignedBefore[], waiting: readonly WaitingBefore[]): readonly string[] {
  return [
    ...named(
      signed,
      ({ id, agentId, state, signedAt }) =>
        `WARNING: an equal payment of ${agentId} was signed at ${timeOf(signedAt)} and is ${state} (${id}).`,
      `were signed in the last ${repeatHours} hours`,
    ),
    ...named(
      waiting,
      ({ id, requester, createdAt }) =>
        `WARNING: an equal payment waits for a person as well, asked for by ${requester} at ${timeOf(createdAt)} (${id}).`,
      'wait for a person as well',
    ),
  ]
}

function named<One>(all: readonly One[], textOf: (one: One) => string, rest: string): readonly string[] {
  const more = all.length - namedMax
  return [
    ...all.slice(0, namedMax).map(textOf),
    ...(more > 0 ? [`WARNING: ${more} more equal payments ${rest}.`] : []),
  ]
}

function timeOf(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

const rowSchema = z
  .object({
    id: z.string(),
    key: z.string(),
    agent_id: z.string(),
    state: z.enum(intentStates),
    signed_at: z.number(),
  })
  .transform((row) => ({ ...row, agentId: row.agent_id, signedAt: row.signed_at }))

export type FindRepeats = (
  payment: { readonly does: string; readonly key: string },
  now: number,
) => readonly string[]

/** Returns a function that describes equal payments of the last day, signed or pending, without the requested one. */
export function createFindRepeats({
  database,
  openPayments,
}: {
  readonly database: Database
  /** Returns payments with this value of `does` that are pending or being carried out. */
  readonly openPayments: (does: string) => readonly WaitingBefore[]
}): FindRepeats {
  return ({ does, key }, now) => {
    const signed = database
      .prepare(
        `SELECT id, key, agent_id, state, signed_at FROM wallet_intents WHERE does = ? AND signed_at >= ?
         AND state NOT IN ('failed', 'replaced', 'expired', 'cancelled') ORDER BY signed_at DESC, rowid DESC LIMIT ?`,
      )
      .all(does, now - repeatHours * 3600 * 1000, readMax)
      .map((row) => rowSchema.parse(row))
    return repeatWords(
      signed.filter((one) => one.key !== key),
      openPayments(does).filter(({ args }) => args['key'] !== key),
    )
  }
}
