import { paymentApprovalKind } from '@flotilla/protocol/wallet-payments'
import { collectEvents, collectJournal, countingIds } from '../../../tests/support/collected-ports.ts'
import { createManualClock } from '../../protocol/src/testing/manual-clock.ts'
import { createApprovalTable } from '../../work/src/approvals/approval-table.ts'
import { createApprovals } from '../../work/src/approvals/approvals.ts'
import type { ApprovalKind } from '../../work/src/approvals/index.ts'
import { silentLog } from '../../foundation/src/platform/log.ts'
import { originOf } from '../../work/src/runs/submit-run.ts'
import { openDatabase } from '../../foundation/src/storage/database.ts'
import { createFakePayingChain } from '../../wallet/src/chain/fake-paying-chain.ts'
import { allMigrations } from '../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../foundation/src/storage/migrate.ts'
import { aPaymentsHarness, friend, sender } from './payments-harness.ts'
import { createIdentityEvents } from '../../identity/src/events/index.ts'

/** What survives a mesh process: rows, the chain, the time. */
export function aHomeThatPays() {
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const chain = createFakePayingChain('base')
  return {
    database,
    clock: createManualClock(),
    newId: countingIds(),
    chain,
    on: { chain, sender, friend, key: new Uint8Array(32).fill(1) },
  }
}

/** One process of the mesh over a home: payments that wait for a person as approvals, both over real rows. */
export function approvedPayments(
  home: ReturnType<typeof aHomeThatPays>,
  given: Omit<NonNullable<Parameters<typeof aPaymentsHarness>[0]>, 'home' | 'desk' | 'on'> = {},
) {
  const kinds: Record<string, ApprovalKind> = {}
  const told: { runId: string; note: unknown }[] = []
  const events = collectEvents()
  const journal = collectJournal()
  const approvals = createApprovals({
    ...home,
    kinds,
    journal,
    events,
    identityEvents: createIdentityEvents(),
    guard: () => {},
    notifyRun: (runId, _source, note) => void told.push({ runId, note }),
    originOf: (caller) => originOf(caller),
    runCosts: () => null,
    log: silentLog,
  })
  const payments = aPaymentsHarness({
    ...given,
    home,
    on: home.on,
    desk: {
      ask: approvals.ask,
      openPayments: (does) =>
        createApprovalTable(home.database).openWith(paymentApprovalKind, { name: 'does', value: does }),
    },
  })
  kinds[paymentApprovalKind] = payments.pay.kind
  return { ...payments, chain: home.chain, approvals, told, events, trail: journal }
}
