import { createPinnedFetch } from '../../packages/egress/src/egress/fetch/pinned-fetch.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { createEvmChain } from '../../packages/wallet/src/chain/evm-chain.ts'
import type { PayingChain } from '../../packages/wallet/src/chain/paying-chain.ts'
import { evmKey } from '../../packages/wallet/src/seed/derive-keys.ts'
import { seedOf } from '../../packages/wallet/src/seed/make-seed.ts'
import type { Anvil } from './anvil.ts'
import { startTrickyRpc } from './wallet-fakes.ts'
import type { TrickyRpc } from './wallet-fakes.ts'

/** The address at index 1 of the seed of development chains. */
export const payer = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

/** The production adapter for Base on that chain, through an RPC that a test can falsify, and the key of `payer`. */
export async function startEvmPayer(
  anvil: Anvil,
): Promise<{ readonly rpc: TrickyRpc; readonly chain: PayingChain; readonly key: Uint8Array }> {
  const rpc = await startTrickyRpc(anvil)
  const chain = createEvmChain({
    name: 'base',
    rpc: () => new URL(rpc.url),
    clock: systemClock,
    fetch: createPinnedFetch({
      resolve: async () => [],
      isAllowed: () => true,
      allowedPorts: [Number(new URL(rpc.url).port)],
    }),
  })
  return { rpc, chain, key: evmKey(await seedOf(`${'test '.repeat(11)}junk`), 1) }
}
