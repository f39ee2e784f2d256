import { Problem } from '@flotilla/protocol/problem'
import { chains, isSolanaChain } from '@flotilla/protocol/wallet-api'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import type { Caller } from '@flotilla/identity/access'
import { createOpenPlaces } from '@flotilla/foundation/intake'
import type { Kernel } from '@flotilla/identity/kernel'
import type { Chain } from './chain/chain.ts'
import type { PayingChain } from './chain/paying-chain.ts'
import { wholeUnits } from './payments/amounts.ts'
import { enterPlaces } from './enter-places.ts'
import { noAddress } from './wallet-chains.ts'
import type { WalletTable } from './wallet-table.ts'
import { agentShareLimits } from '@flotilla/foundation/intake'

export type OwnWallet = ReturnType<typeof createOwnWallet>

/**
 * Returns what an agent may see of its own wallet. Problems: `denied`, `unprocessable` for an agent
 * without an address, `rate-limited`, `upstream-failed`.
 */
export function createOwnWallet({
  guard,
  table,
  chain,
  tokens,
}: {
  readonly guard: Kernel['guard']
  readonly table: WalletTable
  readonly chain: (name: ChainName) => Chain
  readonly tokens: (name: ChainName) => Pick<PayingChain, 'token' | 'held'>
}) {
  const places = createOpenPlaces(agentShareLimits.walletBalances)

  function holderOf(caller: Caller): string {
    if (caller.kind === 'agent') return caller.agentId
    throw new Problem('denied', { detail: 'only an agent can use its own wallet address' })
  }

  function addressOf(caller: Caller, name: ChainName): string {
    const agentId = holderOf(caller)
    const found = table.find(agentId)
    if (found !== null) return isSolanaChain(name) ? found.solana : found.evm
    throw noAddress(agentId)
  }

  async function holding(
    name: ChainName,
    { token, address }: { readonly token: string | undefined; readonly address: string },
    signal: AbortSignal,
  ) {
    if (token === undefined) {
      const [raw = 0n] = await chain(name).balances([address], signal)
      return { ...chains[name], raw }
    }
    const { symbol: coin, decimals } = await tokens(name).token(token, signal)
    return { coin, decimals, raw: await tokens(name).held(token, address, signal) }
  }

  return {
    address: (caller: Caller, name: ChainName) => {
      guard(caller, { do: 'use-wallet', chain: name })
      return { chain: name, address: addressOf(caller, name) }
    },
    balance: async (
      caller: Caller,
      { chain: name, token }: { readonly chain: ChainName; readonly token?: string | undefined },
      signal: AbortSignal,
    ) => {
      guard(caller, { do: 'use-wallet', chain: name, ...(token === undefined ? {} : { contract: token }) })
      const address = addressOf(caller, name)
      const leave = enterPlaces(places, holderOf(caller), 'requests for balances')
      try {
        const { coin, decimals, raw } = await holding(name, { token, address }, signal)
        return { chain: name, address, coin, amount: wholeUnits(raw, decimals), raw: String(raw) }
      } catch (cause) {
        if (signal.aborted) throw cause
        if (cause instanceof Problem && cause.code === 'bad-request') throw cause
        // An agent must not learn the owner's RPC address or the endpoint's error messages.
        throw new Problem('upstream-failed', {
          detail: `the RPC endpoint of ${name} failed; the owner sees the reason with flotilla wallet balances`,
          cause,
        })
      } finally {
        leave()
      }
    },
  }
}
