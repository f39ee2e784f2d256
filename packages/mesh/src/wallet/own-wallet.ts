import { Problem } from '@flotilla/protocol/problem'
import { evmChains } from '@flotilla/protocol/wallet-api'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import type { Caller } from '../access/index.ts'
import type { Kernel } from '../kernel/index.ts'
import type { Chain } from './chain/chain.ts'
import { wholeUnits } from './read-balances.ts'
import type { WalletTable } from './wallet-table.ts'

/** Chains that all agents together may be asking at once. */
const askedMax = 8

export type OwnWallet = ReturnType<typeof createOwnWallet>

/**
 * What an agent may see of its own wallet. Problems `denied`, `unprocessable` for one that the owner gave no address,
 * `rate-limited`, `upstream-failed`.
 */
export function createOwnWallet({
  guard,
  table,
  chain,
}: {
  readonly guard: Kernel['guard']
  readonly table: WalletTable
  readonly chain: (name: ChainName) => Chain
}) {
  let asked = 0

  function addressOf(caller: Caller): string {
    if (caller.kind !== 'agent')
      throw new Problem('denied', { detail: 'only an agent has a wallet of its own' })
    const found = table.find(caller.agentId)
    if (found !== null) return found.evm
    throw new Problem('unprocessable', {
      detail: 'you have no address yet',
      repair: `Ask the owner to give you one: flotilla wallet addresses ${caller.agentId}.`,
    })
  }

  return {
    address: (caller: Caller, name: ChainName) => {
      guard(caller, { do: 'use-wallet', chain: name })
      return { chain: name, address: addressOf(caller) }
    },
    balance: async (caller: Caller, name: ChainName, signal: AbortSignal) => {
      guard(caller, { do: 'use-wallet', chain: name })
      const address = addressOf(caller)
      if (asked >= askedMax) {
        throw new Problem('rate-limited', {
          detail: `${askedMax} chains are being asked already`,
          retryAfterSeconds: 1,
        })
      }
      asked += 1
      try {
        const [raw = 0n] = await chain(name).balances([address], signal)
        const { coin } = evmChains[name]
        return { chain: name, address, coin, amount: wholeUnits(raw), raw: String(raw) }
      } catch (cause) {
        if (signal.aborted) throw cause
        // Where the owner's RPC is, and what it says, is nothing for an agent.
        throw new Problem('upstream-failed', {
          detail: `${name} could not be asked; the owner sees why with flotilla wallet balances`,
          cause,
        })
      } finally {
        asked -= 1
      }
    },
  }
}
