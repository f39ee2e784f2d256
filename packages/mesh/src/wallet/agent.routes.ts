import { walletAgentApi as api, walletAgentEndpoints as endpoints } from '@flotilla/protocol/wallet-agent-api'
import type { AgentSurface } from '../http/index.ts'
import type { OwnWallet } from './own-wallet.ts'

export function walletAgentRoutes({ bind }: AgentSurface, own: OwnWallet): void {
  bind(endpoints.walletOwnAddress, api.walletOwnAddress, ({ caller, query }) =>
    own.address(caller, query.chain),
  )
  bind(endpoints.walletOwnBalance, api.walletOwnBalance, ({ caller, query, gone }) =>
    own.balance(caller, query.chain, gone()),
  )
}
