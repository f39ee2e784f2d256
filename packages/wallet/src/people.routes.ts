import { walletApi as api, walletEndpoints as endpoints } from '@flotilla/protocol/wallet-api'
import {
  walletPaymentApi as paymentApi,
  walletPaymentEndpoints as paymentEndpoints,
} from '@flotilla/protocol/wallet-payments-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { LoadedWallet } from './create-wallet.ts'

/** Endpoints with which an owner manages the seed and reads payments. `use` loads the wallet. */
export function walletPeopleRoutes({ bind }: PeopleSurface, use: () => Promise<LoadedWallet>): void {
  bind(endpoints.walletInit, api.walletInit, async ({ caller, body, reply }) => {
    const { manage } = await use()
    void reply.header('cache-control', 'no-store')
    return manage.init(caller, body.passphrase ?? null)
  })
  bind(endpoints.walletSeed, api.walletSeed, async ({ caller }) => {
    const { manage } = await use()
    return manage.reveal(caller)
  })
  bind(endpoints.walletImport, api.walletImport, async ({ caller, body }) => {
    const { manage } = await use()
    return manage.import(caller, {
      mnemonic: body.mnemonic,
      passphrase: body.passphrase ?? null,
      firstIndex: body.first_index,
    })
  })
  bind(endpoints.walletUnlock, api.walletUnlock, async ({ caller, body }) => {
    const { manage } = await use()
    return manage.unlock(caller, body.passphrase)
  })
  bind(endpoints.walletStatus, api.walletStatus, async ({ caller }) => {
    const { manage } = await use()
    return manage.status(caller)
  })
  bind(endpoints.walletAddresses, api.walletAddresses, async ({ caller }) => {
    const { manage } = await use()
    return { addresses: manage.addresses(caller) }
  })
  bind(endpoints.walletBalances, api.walletBalances, async ({ caller, query, gone }) => {
    const { readBalances } = await use()
    return readBalances(caller, { agentId: query.agent_id }, gone())
  })
  bind(paymentEndpoints.walletPayments, paymentApi.walletPayments, async ({ caller, query }) => {
    const { payments } = await use()
    return { payments: payments.history(caller, query.agent_id) }
  })
  bind(
    paymentEndpoints.walletPaymentReplace,
    paymentApi.walletPaymentReplace,
    async ({ caller, params, body }) => {
      const { replace } = await use()
      // The signal never aborts: a signed replacement is completed even if its caller has disconnected.
      return replace(caller, { id: params.id, how: body.do }, new AbortController().signal)
    },
  )
  bind(paymentEndpoints.walletLimitsNow, paymentApi.walletLimitsNow, async ({ caller }) => {
    const { payments } = await use()
    return payments.limits(caller)
  })
  bind(paymentEndpoints.walletResume, paymentApi.walletResume, async ({ caller }) => {
    const { payments } = await use()
    return payments.resume(caller)
  })
  bind(endpoints.walletAddressGive, api.walletAddressGive, async ({ caller, body }) => {
    const { manage } = await use()
    return manage.give(caller, body.agent_id)
  })
}
