import { walletAgentApi as api, walletAgentEndpoints as endpoints } from '@flotilla/protocol/wallet-agent-api'
import { paymentLimits } from '@flotilla/protocol/wallet-payments'
import type { PaymentAnswer } from '@flotilla/protocol/wallet-payments'
import type { AgentSurface } from '@flotilla/identity/http'
import type { OwnWallet } from './own-wallet.ts'
import type { Pay } from './payments/pay.ts'

/** A signal that never aborts: a signed payment is completed even if its caller has disconnected. */
const neverGone = new AbortController().signal

export function walletAgentRoutes({ bind }: AgentSurface, own: OwnWallet, pay: Pay): void {
  bind(endpoints.walletOwnAddress, api.walletOwnAddress, ({ caller, query }) =>
    own.address(caller, query.chain),
  )
  bind(endpoints.walletOwnBalance, api.walletOwnBalance, ({ caller, query, gone }) =>
    own.balance(caller, query, gone()),
  )
  bind(endpoints.walletOwnPayments, api.walletOwnPayments, ({ caller }) => ({
    payments: pay.own(caller, paymentLimits.listedToAgentMax),
  }))
  bind(endpoints.walletRead, api.walletRead, ({ caller, body, gone }) => pay.read(caller, body, gone()))
  bind(endpoints.walletSimulate, api.walletSimulate, ({ caller, body, gone }) =>
    pay.simulate(caller, body, gone()),
  )
  bind(endpoints.walletTransfer, api.walletTransfer, ({ caller, body, effect }) => {
    const once = effect({ walletTransfer: body })
    return once.resumable<PaymentAnswer>((step) =>
      pay.transfer(caller, body, { step, key: once.key, signal: neverGone }),
    )
  })
  bind(endpoints.walletExecute, api.walletExecute, ({ caller, body, effect }) => {
    const once = effect({ walletExecute: body })
    return once.resumable<PaymentAnswer>((step) =>
      pay.execute(caller, body, { step, key: once.key, signal: neverGone }),
    )
  })
}
