import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { paymentLimits } from '@flotilla/protocol/wallet-payments'
import type { PaymentView, ResumedWallet, WalletLimits } from '@flotilla/protocol/wallet-payments'
import { actorOf, effectiveWalletLimits } from '@flotilla/identity/access'
import type { Caller } from '@flotilla/identity/access'
import type { Settings } from '@flotilla/foundation/config'
import type { Kernel } from '@flotilla/identity/kernel'
import type { IntentTable } from './intent-table.ts'
import type { SeenTable } from './seen-table.ts'
import { viewOf } from './payment-view.ts'
import type { SignPayment } from './sign-payment.ts'

export type ManagePayments = ReturnType<typeof createManagePayments>

/** Payments for an owner. Problem `denied`. */
export function createManagePayments({
  guard,
  table,
  ...deps
}: Pick<Kernel, 'guard' | 'journal' | 'database'> & {
  readonly table: IntentTable
  readonly seen: Pick<SeenTable, 'forget'>
  readonly signing: Pick<SignPayment, 'spentBy'>
  readonly settings: () => Settings['wallet']
  /** Current agents that have an address. */
  readonly payers: () => readonly string[]
  readonly recordOf: (agentId: string) => PermissionRecord | undefined
}) {
  function limits(): WalletLimits {
    const fleet = deps.settings()
    const ofFleet = {
      perTxUsd: fleet.spend_limit_per_tx_usd,
      dailyUsd: fleet.spend_limit_daily_usd,
      perHour: fleet.rate_limit_per_hour,
    }
    return {
      stopped: table.stopped(),
      open: table.openCount(),
      approve_above_usd: fleet.approve_above_usd,
      agents: deps.payers().map((agentId) => {
        const record = deps.recordOf(agentId)
        const limits = record === undefined ? null : effectiveWalletLimits(record, ofFleet)
        const { spentTodayUsd, spendsLastHour } = deps.signing.spentBy(agentId)
        return {
          agent_id: agentId,
          may: record?.can_use_wallet ?? false,
          chains: record?.wallet_allowed_chains ?? [],
          contracts: record?.wallet_allowed_contracts ?? [],
          per_tx_usd: limits?.wallet_spend_limit_per_tx_usd ?? ofFleet.perTxUsd,
          daily_usd: limits?.wallet_spend_limit_daily_usd ?? ofFleet.dailyUsd,
          per_hour: limits?.wallet_rate_limit_per_hour ?? ofFleet.perHour,
          spent_today_usd: spentTodayUsd,
          payments_last_hour: spendsLastHour,
        }
      }),
    }
  }

  return {
    /** Returns payments, newest first. */
    history: (caller: Caller, agentId: string | undefined): readonly PaymentView[] => {
      guard(caller, { do: 'manage-credentials' })
      return table.list({ agentId, limit: paymentLimits.listedMax }).map(viewOf)
    },
    limits: (caller: Caller): WalletLimits => {
      guard(caller, { do: 'manage-credentials' })
      return limits()
    },
    /**
     * Resumes a stopped wallet and trusts the chains' nonces. It trusts the existing signatures of all addresses also
     * if the wallet is not stopped, so that an owner can end a long check of them. Repeating it changes nothing.
     */
    resume: (caller: Caller): ResumedWallet => {
      guard(caller, { do: 'manage-credentials' })
      return deps.database.transaction(() => {
        const reason = table.stopped()
        const hadMarks = deps.seen.forget()
        if (reason !== null) {
          table.resume()
          table.forgetNonces()
        }
        if (reason !== null || hadMarks) {
          deps.journal.append({
            actor: actorOf(caller),
            action: 'wallet.resumed',
            subject: 'seed',
            detail: { reason },
          })
        }
        return { ...limits(), was_stopped: reason }
      })
    },
  }
}
