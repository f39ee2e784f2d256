import { randomBytes } from 'node:crypto'
import type { WalletHalt } from '@flotilla/protocol/wallet-api'
import type { PermissionStore } from '@flotilla/identity/access'
import type { Agents } from '@flotilla/fleet/agents'
import type { CheckEffect } from '@flotilla/identity/policy'
import type { ApprovalDesk } from '@flotilla/work/approvals'
import type { Vault } from '@flotilla/egress/credentials'
import type { Egress } from '@flotilla/egress/egress'
import { createManageWallet, ownerIndex } from './manage-wallet.ts'
import { createOwnWallet } from './own-wallet.ts'
import { createPayments } from './payments/payments.ts'
import { createReadBalances } from './read-balances.ts'
import { createSeedFiles } from './seed/seed-files.ts'
import { createSeedStore } from './seed/seed-store.ts'
import { createWalletChains } from './wallet-chains.ts'
import { createWalletTable } from './wallet-table.ts'
import type { FleetKernel } from '@flotilla/fleet/events'

interface WalletDeps {
  readonly agents: Pick<Agents, 'registry'>
  readonly egress: Pick<Egress, 'fetchForMesh'>
  /** Reads the mesh's own credentials: RPC addresses that contain an API key. */
  readonly vault: Pick<Vault, 'system'>
  readonly permissions: Pick<PermissionStore, 'snapshot'>
  readonly approvals: ApprovalDesk
  readonly checkEffect: CheckEffect
  readonly paths: { readonly walletSeed: string; readonly walletKey: string }
}

export type LoadedWallet = Awaited<ReturnType<typeof createWallet>>

/** Creates the wallet: its seed, the key index of each agent, and payments. Rejects if the seed's files cannot be read. */
export async function createWallet(kernel: FleetKernel, needs: WalletDeps) {
  const { egress, vault, paths } = needs
  const agents = needs.agents.registry
  const table = createWalletTable(kernel.database)
  const files = createSeedFiles({ seedPath: paths.walletSeed, keyPath: paths.walletKey, log: kernel.log })
  const seed = createSeedStore({ files, now: kernel.clock.now, randomBytes })
  const manage = createManageWallet({
    ...kernel,
    seed,
    table,
    randomBytes,
    requireAgent: (agentId) => void agents.require(agentId),
  })
  const chains = createWalletChains(kernel, { egress, vault, seed, table })
  const readBalances = createReadBalances({
    ...kernel,
    ...chains,
    table,
    ownSolana: () =>
      seed.state() === 'open'
        ? seed.opened().solanaAddress(ownerIndex, kernel.settings().wallet.solana_derivation)
        : null,
  })
  await seed.load(table.seed()?.ownerAddress ?? null)
  const payments = createPayments(kernel, { ...chains, ...needs, fetch: egress.fetchForMesh, table })
  kernel.fleetEvents.agentDeleted.subscribe((agentId) => table.leave(agentId, kernel.clock.now()))
  const header = seed.header()
  // A previous process may have ended between the seed's files and this row; its caller never received the words.
  if (header !== null) table.keepSeed({ ownerAddress: header.owner_address, nextIndex: ownerIndex + 1 })

  /** Returns the reason why the wallet cannot sign; null if the wallet can sign or does not exist. */
  function halt(): WalletHalt | null {
    const fault = seed.fault()
    if (fault !== null)
      return { reason: `the seed of the wallet cannot be read: ${fault}`, next: 'flotilla wallet import' }
    const stopped = payments.stopped()
    if (stopped !== null) return { reason: stopped, next: 'flotilla wallet resume' }
    return seed.state() === 'locked'
      ? { reason: 'the seed of the wallet is locked', next: 'flotilla wallet unlock' }
      : null
  }
  return {
    halt,
    manage,
    readBalances,
    payments: payments.manage,
    replace: payments.replace,
    own: createOwnWallet({ ...kernel, ...chains, tokens: chains.chain, table }),
    pay: payments.pay,
    run: payments.run,
    metrics: payments.metrics,
    notices: () => {
      const halted = halt()
      return halted === null ? [] : [`The wallet signs no payments: ${halted.reason}. Next: ${halted.next}`]
    },
    close: seed.close,
  }
}
