import { intentStates, paymentApprovalKind } from '@flotilla/protocol/wallet-payments'
import type { PermissionStore } from '@flotilla/identity/access'
import type { CheckEffect } from '@flotilla/identity/policy'
import type { ApprovalDesk } from '@flotilla/work/approvals'
import type { PinnedFetch } from '@flotilla/egress/egress'
import type { Metric } from '@flotilla/identity/kernel'
import { makerOf } from '@flotilla/identity/events'
import { httpPriceSource } from '../prices/http-prices.ts'
import { createPriceList } from '../prices/asset-prices.ts'
import type { WalletChains } from '../wallet-chains.ts'
import type { WalletTable } from '../wallet-table.ts'
import { createAssessPayment } from './assess-payment.ts'
import { createFollowPayments } from './follow-payments.ts'
import { createFindRepeats } from './find-repeats.ts'
import { createChargeTable } from './charge-table.ts'
import { createIntentTable } from './intent-table.ts'
import { createManagePayments } from './manage-payments.ts'
import { createPay } from './pay.ts'
import { createReplacePayment } from './replace-payment.ts'
import { createReplacementTable } from './replacement-table.ts'
import { createSeenTable } from './seen-table.ts'
import { createSignPayment } from './sign-payment.ts'
import { createWatchSigners } from './watch-signers.ts'
import type { FleetKernel } from '@flotilla/fleet/events'

/** Maximum number of agents whose limits are listed. */
const payersMax = 1000

/** All payment functions: assessment, approval, signature and following. */
export function createPayments(
  kernel: FleetKernel,
  needs: WalletChains & {
    readonly fetch: PinnedFetch
    readonly permissions: Pick<PermissionStore, 'snapshot'>
    readonly approvals: ApprovalDesk
    readonly checkEffect: CheckEffect
    readonly table: WalletTable
  },
) {
  const { approvals, permissions } = needs
  const table = createIntentTable(kernel.database)
  const replacements = createReplacementTable(kernel.database)
  const seen = createSeenTable(kernel.database)
  const settings = () => kernel.settings().wallet
  const deps = { ...kernel, ...needs, table, replacements, seen, settings }
  const priceOf = createPriceList({
    ...kernel,
    sources: () => settings().price_sources.map((source) => httpPriceSource(source, { ...kernel, ...needs })),
  })
  const assess = createAssessPayment({ ...deps, priceOf, payees: table })
  const signing = createSignPayment({
    ...deps,
    charges: createChargeTable(kernel.database),
    makerOf: (agentId) => makerOf(kernel.identityEvents, agentId),
  })
  const watch = createWatchSigners(deps)
  const follow = createFollowPayments({ ...deps, watch })
  const pay = createPay({
    ...deps,
    assess,
    signing,
    follow,
    watch,
    ask: approvals.ask,
    repeatsOf: createFindRepeats({
      ...kernel,
      openPayments: (does) => approvals.openWith(paymentApprovalKind, { name: 'does', value: does }),
    }),
  })
  approvals.addKind(paymentApprovalKind, pay.kind)
  const manage = createManagePayments({
    ...deps,
    signing,
    payers: () =>
      needs.table
        .list(payersMax)
        .filter(({ agent_gone_at: goneAt }) => goneAt === null)
        .map(({ agent_id: agentId }) => agentId),
    recordOf: (agentId) => permissions.snapshot().recordOf(agentId),
  })
  return {
    pay,
    manage,
    replace: createReplacePayment({ ...deps, priceOf, follow }),
    run: follow.run,
    stopped: table.stopped,
    metrics: (): Metric[] => [
      {
        name: 'flotilla_wallet_payments',
        kind: 'gauge',
        description: 'Signed payments of agents, by state',
        samples: intentStates.map((state) => ({ labels: { state }, value: table.countOf(state) })),
      },
    ],
  }
}
