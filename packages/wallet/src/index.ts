import type { Vault } from '@flotilla/egress/credentials'
import type { Egress } from '@flotilla/egress/egress'
import type { Agents } from '@flotilla/fleet/agents'
import type { PermissionStore } from '@flotilla/identity/access'
import { stampOf } from '@flotilla/foundation/config'
import { createFirstUse } from '@flotilla/identity/kernel'
import type { Kernel, MeshModule } from '@flotilla/identity/kernel'
import type { CheckEffect } from '@flotilla/identity/policy'
import type { WalletHalt } from '@flotilla/protocol/wallet-api'
import type { ApprovalDesk } from '@flotilla/work/approvals'
import { walletAgentRoutes } from './agent.routes.ts'
import { walletPeopleRoutes } from './people.routes.ts'
import { createWalletTable } from './wallet-table.ts'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { FleetEvents } from '@flotilla/fleet/events'

export interface WalletNeeds {
  readonly identity: { readonly events: IdentityEvents }
  readonly fleet: { readonly events: FleetEvents; readonly agents: Pick<Agents, 'registry'> }
  readonly work: { readonly approvals: ApprovalDesk; readonly checkEffect: CheckEffect }
  readonly egress: { readonly outbound: Pick<Egress, 'fetchForMesh'> }
  readonly access: { readonly permissions: Pick<PermissionStore, 'snapshot'> }
  /** Reads the mesh's own credentials: RPC addresses that contain an API key. */
  readonly secrets: { readonly vault: Pick<Vault, 'system'> }
  readonly files: { readonly walletSeed: string; readonly walletKey: string }
}

export interface Wallet {
  /** Returns the reason why the wallet cannot sign; null if the wallet can sign or does not exist. */
  halt(): WalletHalt | null
}

/**
 * Creates the module of the wallet: its seed, the key of each agent, and payments. The wallet is loaded here if this
 * home has a seed, else with the first request to it.
 */
export async function walletModules(kernel: Kernel, needs: WalletNeeds) {
  const seen = { ...kernel, identityEvents: needs.identity.events, fleetEvents: needs.fleet.events }
  const { use, loaded, hooks } = createFirstUse(async () => {
    const { createWallet } = await import('./create-wallet.ts')
    return createWallet(seen, {
      agents: needs.fleet.agents,
      egress: needs.egress.outbound,
      vault: needs.secrets.vault,
      permissions: needs.access.permissions,
      approvals: needs.work.approvals,
      checkEffect: needs.work.checkEffect,
      paths: needs.files,
    })
  })
  const { walletSeed, walletKey } = needs.files
  const files = await Promise.all([stampOf(walletSeed), stampOf(walletKey)])
  if (createWalletTable(kernel.database).seed() !== null || files.some((file) => file !== null)) await use()
  const api: Wallet = { halt: () => loaded()?.halt() ?? null }
  const wallet: MeshModule<Wallet> = {
    ...hooks,
    api,
    routes: {
      people: (surface) => walletPeopleRoutes(surface, use),
      agent: (surface) => walletAgentRoutes(surface, use),
    },
  }
  return { modules: { wallet }, wallet: api }
}
