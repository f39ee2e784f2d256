import { Problem } from '@flotilla/protocol/problem'
import { chainNames, evmChains, walletLimits } from '@flotilla/protocol/wallet-api'
import type { ChainName, WalletBalance, WalletBalances } from '@flotilla/protocol/wallet-api'
import type { Caller } from '../access/index.ts'
import type { Kernel } from '../kernel/index.ts'
import type { Chain } from './chain/chain.ts'
import type { WalletTable } from './wallet-table.ts'

export type ReadBalances = (
  caller: Caller,
  asked: { readonly agentId: string | undefined },
  signal: AbortSignal,
) => Promise<WalletBalances>

/** Of the coins of all chains here. */
const decimals = 18

type Holder = Pick<WalletBalance, 'agent_id' | 'index' | 'evm'>

/**
 * What the fleet's addresses hold of each chain's own coin, for an owner; a seed that is locked does not matter. A chain
 * that cannot be asked has its reason in the place of an amount, and keeps no other from being told. Problems `denied`,
 * `no-wallet`, `unprocessable` for an agent that has no address.
 */
export function createReadBalances(deps: {
  readonly guard: Kernel['guard']
  readonly table: WalletTable
  /** Those that the owner has set up, at the moment. */
  readonly chains: () => readonly ChainName[]
  readonly chain: (name: ChainName) => Chain
}): ReadBalances {
  async function of(
    name: ChainName,
    holders: readonly Holder[],
    signal: AbortSignal,
  ): Promise<WalletBalance[]> {
    const { coin } = evmChains[name]
    const common = { chain: name, coin }
    try {
      const found = await deps.chain(name).balances(
        holders.map(({ evm }) => evm),
        signal,
      )
      return holders.map((holder, at) => {
        const raw = found[at] ?? 0n
        return { ...holder, ...common, raw: String(raw), amount: wholeUnits(raw), problem: null }
      })
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const problem = error.detail ?? error.code
      return holders.map((holder) => ({ ...holder, ...common, raw: null, amount: null, problem }))
    }
  }

  return async (caller, { agentId }, signal) => {
    deps.guard(caller, { do: 'manage-credentials' })
    const holders = agentId === undefined ? everybody(deps.table) : [ofAgent(deps.table, agentId)]
    const chains = chainNames.filter((name) => deps.chains().includes(name))
    const balances = await Promise.all(chains.map((name) => of(name, holders, signal)))
    return { chains, balances: balances.flat() }
  }
}

/** The owner, and the newest of the others; also those that are deleted, whose money is the owner's to move. */
function everybody(table: WalletTable): readonly Holder[] {
  const memo = table.seed()
  if (memo === null) throw new Problem('no-wallet')
  return [
    { agent_id: null, index: 0, evm: memo.ownerAddress },
    ...table.list(walletLimits.balancesMax).map(({ agent_id, index, evm }) => ({ agent_id, index, evm })),
  ]
}

function ofAgent(table: WalletTable, agentId: string): Holder {
  const found = table.find(agentId)
  if (found !== null) return { agent_id: found.agent_id, index: found.index, evm: found.evm }
  throw new Problem('unprocessable', {
    detail: `${agentId} has no address`,
    repair: `Give it one with flotilla wallet addresses ${agentId}.`,
  })
}

/** In digits alone: a float would lose the last units. Pure. */
export function wholeUnits(raw: bigint): string {
  const digits = String(raw).padStart(decimals + 1, '0')
  const fraction = digits.slice(-decimals).replace(/0+$/, '')
  return `${digits.slice(0, -decimals)}${fraction === '' ? '' : `.${fraction}`}`
}
