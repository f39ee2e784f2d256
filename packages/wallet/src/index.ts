import type { Vault } from '@flotilla/egress/credentials'
import type { Egress } from '@flotilla/egress/egress'
import type { Agents } from '@flotilla/fleet/agents'
import type { PermissionStore } from '@flotilla/identity/access'
import type { Kernel } from '@flotilla/identity/kernel'
import type { ApprovalDesk } from '@flotilla/work/approvals'
import { walletModule } from './wallet-module.ts'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { FleetEvents } from '@flotilla/fleet/events'

export type { Wallet } from './wallet-module.ts'

export interface WalletNeeds {
  readonly identity: { readonly events: IdentityEvents }
  readonly fleet: { readonly events: FleetEvents; readonly agents: Pick<Agents, 'registry'> }
  readonly work: { readonly approvals: ApprovalDesk }
  readonly egress: { readonly outbound: Pick<Egress, 'fetchForMesh'> }
  readonly access: { readonly permissions: Pick<PermissionStore, 'snapshot'> }
  /** Reads the mesh's own credentials: RPC addresses that contain an API key. */
  readonly secrets: { readonly vault: Pick<Vault, 'system'> }
  readonly files: { readonly walletSeed: string; readonly walletKey: string }
}

/** Creates the module of the wallet: its seed, the key of each agent, and payments. */
export async function walletModules(kernel: Kernel, needs: WalletNeeds) {
  const seen = { ...kernel, identityEvents: needs.identity.events, fleetEvents: needs.fleet.events }
  const wallet = await walletModule(seen, {
    agents: needs.fleet.agents,
    egress: needs.egress.outbound,
    vault: needs.secrets.vault,
    permissions: needs.access.permissions,
    approvals: needs.work.approvals,
    paths: needs.files,
  })
  return { modules: { wallet }, wallet: wallet.api }
}
