import { Problem } from '@flotilla/protocol/problem'
import { chainNames, chains as everyChain, isSolanaChain, walletLimits } from '@flotilla/protocol/wallet-api'
import type { ChainName, WalletBalance, WalletBalances } from '@flotilla/protocol/wallet-api'
import type { Caller } from '@flotilla/identity/access'
import type { Kernel } from '@flotilla/identity/kernel'
import type { Chain } from './chain/chain.ts'
import { wholeUnits } from './payments/amounts.ts'
import type { WalletTable } from './wallet-table.ts'

export type ReadBalances = (
  caller: Caller,
  request: { readonly agentId: string | undefined },
  signal: AbortSignal,
) => Promise<WalletBalances>

/** Shown instead of an amount when the address cannot be derived. */
const notOpen = 'the wallet is not open, so your address on this chain cannot be derived'

interface Holder extends Pick<WalletBalance, 'agent_id' | 'index'> {
  readonly evm: string
  /** The Solana address; null for the owner's own address while the seed is not open. */
  readonly solana: string | null
}

/**
 * Returns the balances of the fleet's addresses in each chain's own coin, for an owner, also while
 * the seed is locked. A chain that fails shows its reason instead of an amount and does not affect
 * the others. Problems: `denied`, `no-wallet`, `unprocessable` for an agent without an address.
 */
export function createReadBalances(deps: {
  readonly guard: Kernel['guard']
  readonly table: WalletTable
  /** Returns the chains in the owner's current settings. */
  readonly chains: () => readonly ChainName[]
  readonly chain: (name: ChainName) => Chain
  /** Returns the owner's own address on Solana; null while the seed is not open. */
  readonly ownSolana: () => string | null
}): ReadBalances {
  async function of(
    name: ChainName,
    holders: readonly Holder[],
    signal: AbortSignal,
  ): Promise<WalletBalance[]> {
    const { coin, decimals } = everyChain[name]
    const rows = holders.map(({ agent_id, index, evm, solana }) => {
      const address = isSolanaChain(name) ? solana : evm
      return { agent_id, index, address, chain: name, coin, raw: null, amount: null, problem: null }
    })
    const known = rows.flatMap(({ address }) => (address === null ? [] : [address]))
    try {
      const found = await deps.chain(name).balances(known, signal)
      const byAddress = new Map(known.map((address, at) => [address, found[at] ?? 0n]))
      return rows.map((row) => {
        if (row.address === null) return { ...row, problem: notOpen }
        const raw = byAddress.get(row.address) ?? 0n
        return { ...row, raw: String(raw), amount: wholeUnits(raw, decimals) }
      })
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const problem = error.detail ?? error.code
      return rows.map((row) => ({ ...row, problem }))
    }
  }

  return async (caller, { agentId }, signal) => {
    deps.guard(caller, { do: 'manage-credentials' })
    const holders =
      agentId === undefined ? everybody(deps.table, deps.ownSolana) : [ofAgent(deps.table, agentId)]
    const chains = chainNames.filter((name) => deps.chains().includes(name))
    const balances = await Promise.all(chains.map((name) => of(name, holders, signal)))
    return { chains, balances: balances.flat() }
  }
}

/**
 * Returns the owner's address and the newest agents' addresses, including those of deleted agents,
 * whose money only the owner can move.
 */
function everybody(table: WalletTable, ownSolana: () => string | null): readonly Holder[] {
  const memo = table.seed()
  if (memo === null) throw new Problem('no-wallet')
  return [
    { agent_id: null, index: 0, evm: memo.ownerAddress, solana: ownSolana() },
    ...table.list(walletLimits.balancesMax),
  ]
}

function ofAgent(table: WalletTable, agentId: string): Holder {
  const found = table.find(agentId)
  if (found !== null) return found
  throw new Problem('unprocessable', {
    detail: `${agentId} has no address`,
    repair: `Give the agent an address with flotilla wallet addresses ${agentId}.`,
  })
}
