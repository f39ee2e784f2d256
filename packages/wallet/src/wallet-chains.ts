import { randomBytes } from 'node:crypto'
import { Problem } from '@flotilla/protocol/problem'
import { chainNames, isSolanaChain } from '@flotilla/protocol/wallet-api'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import type { Vault } from '@flotilla/egress/credentials'
import type { Egress } from '@flotilla/egress/egress'
import type { Kernel } from '@flotilla/identity/kernel'
import type { PayingChain } from './chain/paying-chain.ts'
import { rpcOf } from './chain/rpc-address.ts'
import type { Signer } from './payments/sign-payment.ts'
import type { SeedStore } from './seed/seed-store.ts'
import type { WalletTable } from './wallet-table.ts'

export interface WalletChains {
  /** Returns the chains in the owner's current settings. */
  chains(): readonly ChainName[]
  chain(name: ChainName): PayingChain
  /**
   * Returns the signer of that agent on that chain. Problems `unprocessable` without an address,
   * `no-wallet`, `wallet-locked`, `conflict`.
   */
  signerOf(agentId: string, chain: ChainName): Signer
}

/** The chains of the owner's settings, and the signer of each agent. */
export function createWalletChains(
  kernel: Kernel,
  {
    egress,
    vault,
    seed,
    table,
  }: {
    readonly egress: Pick<Egress, 'fetchForMesh'>
    readonly vault: Pick<Vault, 'system'>
    readonly seed: SeedStore
    readonly table: WalletTable
  },
): WalletChains {
  const settings = () => kernel.settings().wallet.chains
  /** The module for EVM chains, loaded on first use, so that a mesh without EVM chains does not load it. */
  let evm: typeof import('./chain/evm-chain.ts') | null = null
  let solana: typeof import('./solana/solana-chain.ts') | null = null

  /** Creates the adapter of a chain; null if its module is not loaded. */
  function made(name: ChainName): PayingChain | null {
    const common = {
      ...kernel,
      fetch: egress.fetchForMesh,
      rpc: () => rpcOf(name, settings()[name], vault),
    }
    if (isSolanaChain(name)) return solana?.createSolanaChain({ ...common, name, randomBytes }) ?? null
    return evm?.createEvmChain({ ...common, name }) ?? null
  }

  function lateChain(name: ChainName): PayingChain {
    const loaded = async (): Promise<PayingChain> => {
      if (isSolanaChain(name)) solana ??= await import('./solana/solana-chain.ts')
      else evm ??= await import('./chain/evm-chain.ts')
      const chain = made(name)
      if (chain === null) throw new Error('a chain was loaded and is not there')
      return chain
    }
    return {
      name,
      balances: async (addresses, signal) => (await loaded()).balances(addresses, signal),
      plan: async (from, order, signal) => (await loaded()).plan(from, order, signal),
      sign: (plan, place, key) => {
        const chain = made(name)
        if (chain === null) throw new Error('what is signed is planned first')
        return chain.sign(plan, place, key)
      },
      broadcast: async (signed, signal) => (await loaded()).broadcast(signed, signal),
      replacing: async (sent, how, signal) => (await loaded()).replacing(sent, how, signal),
      signedElsewhere: async (address, known, signal) =>
        (await loaded()).signedElsewhere(address, known, signal),
      follow: async (sent, signal) => (await loaded()).follow(sent, signal),
      token: async (address, signal) => (await loaded()).token(address, signal),
      held: async (token, address, signal) => (await loaded()).held(token, address, signal),
      read: async (contract, call, signal) => (await loaded()).read(contract, call, signal),
    }
  }

  return {
    chains: () => chainNames.filter((name) => settings()[name] !== undefined),
    chain: lateChain,
    signerOf: (agentId, name) => {
      const given = table.find(agentId)
      if (given === null) throw noAddress(agentId)
      seed.opened()
      if (isSolanaChain(name)) {
        const derivation = table.solanaDerivationOf(given.index)
        return {
          address: given.solana,
          withKey: (use) => seed.opened().withSolanaKey(given.index, derivation, use),
        }
      }
      return { address: given.evm, withKey: (use) => seed.opened().withEvmKey(given.index, use) }
    },
  }
}

export function noAddress(agentId: string): Problem {
  return new Problem('unprocessable', {
    detail: 'you have no address yet',
    repair: `Ask the owner to give you one: flotilla wallet addresses ${agentId}.`,
  })
}
