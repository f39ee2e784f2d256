import type { Problem } from '@flotilla/protocol/problem'
import { solanaChains } from '@flotilla/protocol/wallet-api'
import type { SolanaChainName } from '@flotilla/protocol/wallet-api'
import { createJsonRpc } from '../chain/json-rpc.ts'
import type { JsonRpcDeps, RpcSession } from '../chain/json-rpc.ts'
import { readAddress } from './solana-address.ts'
import * as z from 'zod'

export type SolanaRpcDeps = JsonRpcDeps & { readonly name: SolanaChainName }

/** An endpoint of this chain, verified by the genesis hash. */
export interface SolanaRpc extends Pick<RpcSession, 'ask'> {
  /** Creates the problem for an answer that matches the schema but is impossible. */
  failed(what: string): Problem
}

/** A hash: 32 bytes in base 58. */
export const hashSchema = z.string().refine((text) => readAddress(text) !== null)

export async function openSolanaRpc(deps: SolanaRpcDeps, signal: AbortSignal): Promise<SolanaRpc> {
  const { genesis } = solanaChains[deps.name]
  const { open, failed } = createJsonRpc(deps, async ({ ask }) => {
    const servedGenesis = await ask('getGenesisHash', [], hashSchema)
    return servedGenesis === genesis
      ? null
      : `the endpoint serves a chain with the genesis hash ${servedGenesis}, but ${deps.name} has ${genesis}`
  })
  const { ask } = await open(signal)
  return { ask, failed }
}
