import { randomBytes } from 'node:crypto'
import { chainNames } from '@flotilla/protocol/wallet-api'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import type { Agents } from '../agents/index.ts'
import { noSuchAgent } from '../agents/index.ts'
import type { Vault } from '../credentials/index.ts'
import type { Egress } from '../egress/index.ts'
import type { Kernel, MeshModule } from '../kernel/index.ts'
import { createEvmChain } from './chain/evm-chain.ts'
import { rpcOf } from './chain/rpc-address.ts'
import { walletAgentRoutes } from './agent.routes.ts'
import { createManageWallet, ownerIndex } from './manage-wallet.ts'
import { createOwnWallet } from './own-wallet.ts'
import { walletPeopleRoutes } from './people.routes.ts'
import { createReadBalances } from './read-balances.ts'
import { createSeedFiles } from './seed/seed-files.ts'
import { createSeedStore } from './seed/seed-store.ts'
import { createWalletTable } from './wallet-table.ts'

interface Needs {
  readonly agents: Pick<Agents, 'find' | 'list'>
  readonly egress: Pick<Egress, 'fetchForMesh'>
  /** Of the mesh: addresses of RPCs with a key in them. */
  readonly vault: Pick<Vault, 'system'>
  readonly paths: { readonly walletSeed: string; readonly walletKey: string }
}

/** The seed that the keys of all agents' wallets come of, and whose index is whose. */
export async function walletModule(
  kernel: Kernel,
  { agents, egress, vault, paths }: Needs,
): Promise<MeshModule<null>> {
  const table = createWalletTable(kernel.database)
  const files = createSeedFiles({ seedPath: paths.walletSeed, keyPath: paths.walletKey, log: kernel.log })
  const seed = createSeedStore({ files, now: kernel.clock.now, randomBytes })
  const manage = createManageWallet({
    ...kernel,
    seed,
    table,
    randomBytes,
    requireAgent: (agentId) => {
      if (agents.find(agentId) === null) {
        throw noSuchAgent(
          agentId,
          agents.list().map(({ id }) => id),
        )
      }
    },
  })
  const chainSettings = () => kernel.settings().wallet.chains
  const chains = {
    ...kernel,
    table,
    chains: () => chainNames.filter((name) => chainSettings()[name] !== undefined),
    chain: (name: ChainName) =>
      createEvmChain({
        ...kernel,
        name,
        fetch: egress.fetchForMesh,
        rpc: () => rpcOf(name, chainSettings()[name], vault),
      }),
  }
  const readBalances = createReadBalances(chains)
  kernel.hooks.agentDeleted.subscribe((agentId) => table.leave(agentId, kernel.clock.now()))
  await seed.load(table.seed()?.ownerAddress ?? null)
  const header = seed.header()
  // It was made by a mesh that ended before the row; whoever asked for it has no words of it.
  if (header !== null) table.keepSeed({ ownerAddress: header.owner_address, nextIndex: ownerIndex + 1 })
  return {
    api: null,
    routes: {
      people: (surface) => walletPeopleRoutes(surface, { manage, readBalances }),
      agent: (surface) => walletAgentRoutes(surface, createOwnWallet(chains)),
    },
    notices: () => {
      const fault = seed.fault()
      if (fault !== null) return [`The wallet is lost: ${fault}. flotilla wallet import takes its words in.`]
      return seed.state() === 'locked' ? ['The wallet is locked: flotilla wallet unlock opens it.'] : []
    },
    close: seed.close,
  }
}
