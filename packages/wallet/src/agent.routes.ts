import { walletAgentApi as api, walletAgentEndpoints as endpoints } from '@flotilla/protocol/wallet-agent-api'
import { paymentLimits } from '@flotilla/protocol/wallet-payments'
import type { PaymentAnswer } from '@flotilla/protocol/wallet-payments'
import type { AgentSurface } from '@flotilla/identity/http'
import type { LoadedWallet } from './create-wallet.ts'

/** A signal that never aborts: a signed payment is completed even if its caller has disconnected. */
const neverGone = new AbortController().signal

/** Endpoints of agents. `use` loads the wallet. */
export function walletAgentRoutes({ bind }: AgentSurface, use: () => Promise<LoadedWallet>): void {
  bind(endpoints.walletOwnAddress, api.walletOwnAddress, async ({ caller, query }) => {
    const { own } = await use()
    return own.address(caller, query.chain)
  })
  bind(endpoints.walletOwnBalance, api.walletOwnBalance, async ({ caller, query, gone }) => {
    const { own } = await use()
    return own.balance(caller, query, gone())
  })
  bind(endpoints.walletOwnPayments, api.walletOwnPayments, async ({ caller }) => {
    const { pay } = await use()
    return { payments: pay.own(caller, paymentLimits.listedToAgentMax) }
  })
  bind(endpoints.walletRead, api.walletRead, async ({ caller, body, gone }) => {
    const { pay } = await use()
    return pay.read(caller, body, gone())
  })
  bind(endpoints.walletSimulate, api.walletSimulate, async ({ caller, body, gone }) => {
    const { pay } = await use()
    return pay.simulate(caller, body, gone())
  })
  bind(endpoints.walletTransfer, api.walletTransfer, async ({ caller, body, effect }) => {
    const { pay } = await use()
    const once = effect({ walletTransfer: body })
    return once.resumable<PaymentAnswer>((step) =>
      pay.transfer(caller, body, { step, key: once.key, signal: neverGone }),
    )
  })
  bind(endpoints.walletExecute, api.walletExecute, async ({ caller, body, effect }) => {
    const { pay } = await use()
    const once = effect({ walletExecute: body })
    return once.resumable<PaymentAnswer>((step) =>
      pay.execute(caller, body, { step, key: once.key, signal: neverGone }),
    )
  })
}
