import type { CheckEffect } from '../../identity/src/policy/index.ts'
import { allowedEffects } from './allowed-effects.ts'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import { createManualClock } from '../../protocol/src/testing/manual-clock.ts'
import type { ManualClock } from '../../protocol/src/testing/manual-clock.ts'
import { authorize } from '../../identity/src/access/authorize.ts'
import type { Caller } from '../../identity/src/access/index.ts'
import { defaultSettings } from '../../foundation/src/config/settings-file.ts'
import type { Settings } from '../../foundation/src/config/index.ts'
import type { AskApproval } from '../../work/src/approvals/index.ts'
import type { Kernel } from '../../identity/src/kernel/index.ts'
import { silentLog } from '../../foundation/src/platform/log.ts'
import { openDatabase } from '../../foundation/src/storage/database.ts'
import { onceOnly } from '../../foundation/src/storage/resumable.ts'
import { allMigrations } from '../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../foundation/src/storage/migrate.ts'
import { createFakePayingChain } from '../../wallet/src/chain/fake-paying-chain.ts'
import type { PayingChain } from '../../wallet/src/chain/paying-chain.ts'
import { createAssessPayment } from '../../wallet/src/payments/assess-payment.ts'
import { createFollowPayments } from '../../wallet/src/payments/follow-payments.ts'
import { createFindRepeats } from '../../wallet/src/payments/find-repeats.ts'
import { createChargeTable } from '../../wallet/src/payments/charge-table.ts'
import { createIntentTable } from '../../wallet/src/payments/intent-table.ts'
import { createManagePayments } from '../../wallet/src/payments/manage-payments.ts'
import { createPay } from '../../wallet/src/payments/pay.ts'
import { createReplacePayment } from '../../wallet/src/payments/replace-payment.ts'
import { createReplacementTable } from '../../wallet/src/payments/replacement-table.ts'
import { createSeenTable } from '../../wallet/src/payments/seen-table.ts'
import { createSignPayment } from '../../wallet/src/payments/sign-payment.ts'
import { createWatchSigners } from '../../wallet/src/payments/watch-signers.ts'

export const never = new AbortController().signal
export const scout: Extract<Caller, { kind: 'agent' }> = {
  kind: 'agent',
  agentId: 'scout',
  token: 'door',
  run: null,
}
export const owner: Caller = { kind: 'human', channel: 'cli', role: 'owner' }
export const sender = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
/** A payee that the owner has approved, so that no person is asked. */
export const friend = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'

/** Payments on a chain in memory, on which one coin is worth `coinUsd` dollars and each token one. */
export function aPaymentsHarness(
  given: {
    readonly record?: Partial<PermissionRecord>
    /** Agents with records and makers of their own; all have `record` and no maker if omitted. */
    readonly fleet?: {
      readonly recordOf: (agentId: string) => PermissionRecord | undefined
      readonly makerOf: (agentId: string) => string | null
    }
    readonly wallet?: Partial<Settings['wallet']>
    readonly coinUsd?: bigint
    /** The owner's policy; every payment is allowed if omitted. */
    readonly checkEffect?: CheckEffect
    /** Path of a database file for measurements; in memory if omitted. */
    readonly databasePath?: string
    /** The state that a previous process left, for a process that starts on it. */
    readonly home?: Pick<Kernel, 'database' | 'clock' | 'newId'> & { readonly clock: ManualClock }
    /** Receives payments that wait for a person; they are added to `asked` if omitted. */
    readonly desk?: {
      readonly ask: AskApproval
      readonly openPayments: Parameters<typeof createFindRepeats>[0]['openPayments']
    }
    /** Replaces the in-memory chain and the payer. */
    readonly on?: {
      readonly chain: PayingChain
      readonly sender: string
      readonly friend: string
      readonly key: Uint8Array
    }
  } = {},
) {
  const database = given.home?.database ?? openDatabase(given.databasePath ?? ':memory:')
  migrate(database, allMigrations)
  const clock = given.home?.clock ?? createManualClock()
  const chain = createFakePayingChain('base')
  const on = given.on ?? { chain, sender, friend, key: new Uint8Array(32).fill(1) }
  const table = createIntentTable(database)
  const journal: { action: string; detail?: unknown }[] = []
  const asked: { kind: string; args: unknown }[] = []
  const record = permissionRecordSchema.parse({
    can_use_wallet: true,
    wallet_allowed_chains: [on.chain.name],
    ...given.record,
  })
  const recordOf = given.fleet?.recordOf ?? (() => record)
  const settings = () => ({
    ...defaultSettings.wallet,
    known_addresses: { friend: on.friend },
    rate_limit_per_hour: 0,
    ...given.wallet,
  })
  let count = 0
  const deps = {
    database,
    clock,
    table,
    charges: createChargeTable(database),
    replacements: createReplacementTable(database),
    seen: createSeenTable(database),
    settings,
    log: silentLog,
    newId: given.home?.newId ?? ((kind: string) => `${kind}_${++count}`),
    chain: () => on.chain,
    makerOf: given.fleet?.makerOf ?? (() => null),
    journal: { append: (entry: { action: string }) => void journal.push(entry) },
    guard: (caller: Caller, action: Parameters<typeof authorize>[2]) => {
      const decision = authorize({ broken: null, recordOf }, caller, action)
      if (!decision.allowed) {
        throw new Problem('denied', { detail: decision.reason, extra: { field: decision.field } })
      }
    },
  }
  const priceOf = async ({ token }: { token: string | null }) =>
    token === null ? (given.coinUsd ?? 1n) * 10n ** 18n : 10n ** 18n
  const assess = createAssessPayment({ ...deps, priceOf, payees: table })
  const signing = createSignPayment(deps)
  const watch = createWatchSigners(deps)
  const follow = createFollowPayments({ ...deps, watch })
  const signerOf = () => ({
    address: on.sender,
    withKey: <T>(use: (key: Uint8Array) => T) => use(on.key),
  })
  const replace = createReplacePayment({ ...deps, priceOf, follow, signerOf })
  const pay = createPay({
    ...deps,
    checkEffect: given.checkEffect ?? allowedEffects,
    assess,
    signing,
    follow,
    watch,
    signerOf,
    repeatsOf: createFindRepeats({ database, openPayments: given.desk?.openPayments ?? (() => []) }),
    ask: (caller, request) => {
      asked.push(request)
      return given.desk?.ask(caller, request) ?? ({ id: `appr_${asked.length}` } as never)
    },
  })
  const manage = createManagePayments({ ...deps, signing, payers: () => ['scout'], recordOf: () => record })
  let calls = 0
  return {
    chain,
    clock,
    /** The agent's current permissions. */
    record,
    table,
    journal,
    asked,
    pay,
    follow,
    watch,
    manage,
    replace: (id: string, how: 'speed-up' | 'cancel', caller: Caller = owner) =>
      replace(caller, { id, how }, never),
    database,
    /** Sends coins or tokens to a friend. */
    send: (amount: string, more: { key?: string; to?: string; token?: string; as?: typeof scout } = {}) => {
      const { key = `run_1:${++calls}`, as = scout, ...rest } = more
      return pay.transfer(
        as,
        { chain: on.chain.name, to: on.friend, amount, ...rest },
        { step: onceOnly(database), key, signal: never },
      )
    },
    /** Advances the clock by a minute and polls everything that is due. */
    poll: async () => {
      await clock.advance(60_000)
      await follow.poll(never)
    },
    states: () => table.list({ agentId: undefined, limit: 100 }).map(({ state }) => state),
  }
}
