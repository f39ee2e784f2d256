import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import type { SolanaChainName } from '@flotilla/protocol/wallet-api'
import { base58 } from '@scure/base'
import { createPinnedFetch } from '../../../packages/egress/src/egress/fetch/pinned-fetch.ts'
import { systemClock } from '../../../packages/foundation/src/platform/system-clock.ts'
import type { PayingChain } from '../../../packages/wallet/src/chain/paying-chain.ts'
import { createSolanaChain } from '../../../packages/wallet/src/solana/solana-chain.ts'
import type { SolanaServer } from './rpc-server.ts'

export interface TestWallet {
  readonly address: string
  readonly bytes: Uint8Array
  readonly key: Uint8Array
}

export function aWallet(): TestWallet {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  const bytes = Buffer.from(x, 'base64url')
  return { address: base58.encode(bytes), bytes, key: Buffer.from(d, 'base64url') }
}

/** The mesh's production adapter for a chain, which calls this server through the egress filter's `fetch`. */
export function chainAt(
  server: SolanaServer,
  clock: Clock = systemClock,
  name: SolanaChainName = 'solana-devnet',
): PayingChain {
  return createSolanaChain({
    name,
    rpc: () => new URL(server.url),
    clock,
    randomBytes,
    fetch: createPinnedFetch({
      resolve: async () => [],
      isAllowed: () => true,
      allowedPorts: [Number(new URL(server.url).port)],
    }),
  })
}
