import { walletApi as api, walletEndpoints as endpoints } from '@flotilla/protocol/wallet-api'
import {
  walletPaymentApi as paymentApi,
  walletPaymentEndpoints as paymentEndpoints,
} from '@flotilla/protocol/wallet-payments-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { ManageWallet } from './manage-wallet.ts'
import type { ManagePayments } from './payments/manage-payments.ts'
import type { ReplacePayment } from './payments/replace-payment.ts'
import type { ReadBalances } from './read-balances.ts'

/** Endpoints with which an owner manages the seed and reads payments. */
export function walletPeopleRoutes(
  { bind }: PeopleSurface,
  {
    manage: wallet,
    readBalances,
    payments,
    replace,
  }: {
    readonly manage: ManageWallet
    readonly readBalances: ReadBalances
    readonly payments: ManagePayments
    readonly replace: ReplacePayment
  },
): void {
  bind(endpoints.walletInit, api.walletInit, ({ caller, body, reply }) => {
    void reply.header('cache-control', 'no-store')
    return wallet.init(caller, body.passphrase ?? null)
  })
  bind(endpoints.walletSeed, api.walletSeed, ({ caller }) => wallet.reveal(caller))
  bind(endpoints.walletImport, api.walletImport, ({ caller, body }) =>
    wallet.import(caller, {
      mnemonic: body.mnemonic,
      passphrase: body.passphrase ?? null,
      firstIndex: body.first_index,
    }),
  )
  bind(endpoints.walletUnlock, api.walletUnlock, ({ caller, body }) => wallet.unlock(caller, body.passphrase))
  bind(endpoints.walletStatus, api.walletStatus, ({ caller }) => wallet.status(caller))
  bind(endpoints.walletAddresses, api.walletAddresses, ({ caller }) => ({
    addresses: wallet.addresses(caller),
  }))
  bind(endpoints.walletBalances, api.walletBalances, ({ caller, query, gone }) =>
    readBalances(caller, { agentId: query.agent_id }, gone()),
  )
  bind(paymentEndpoints.walletPayments, paymentApi.walletPayments, ({ caller, query }) => ({
    payments: payments.history(caller, query.agent_id),
  }))
  bind(paymentEndpoints.walletPaymentReplace, paymentApi.walletPaymentReplace, ({ caller, params, body }) =>
    // The signal never aborts: a signed replacement is completed even if its caller has disconnected.
    replace(caller, { id: params.id, how: body.do }, new AbortController().signal),
  )
  bind(paymentEndpoints.walletLimitsNow, paymentApi.walletLimitsNow, ({ caller }) => payments.limits(caller))
  bind(paymentEndpoints.walletResume, paymentApi.walletResume, ({ caller }) => payments.resume(caller))
  bind(endpoints.walletAddressGive, api.walletAddressGive, ({ caller, body }) =>
    wallet.give(caller, body.agent_id),
  )
}
