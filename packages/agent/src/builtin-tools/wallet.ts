import { walletAgentEndpoints } from '@flotilla/protocol/wallet-agent-api'
import { chainNames } from '@flotilla/protocol/wallet-api'
import { choice } from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'

const replyTimeoutMs = 30_000

/** The mesh derives the address and asks the chain; keys and the owner's RPC stay there. */
export function walletTools(): Tool[] {
  const parameters = { chain: choice('Which chain', chainNames) }
  const common = { effect: 'none', parallelSafe: true, timeoutMs: meshToolTimeoutMs } as const
  return [
    defineTool({
      name: 'wallet_address',
      description: 'Your own address on a chain, for whoever wants to pay you. You cannot pay from it.',
      parameters,
      ...common,
      run: async (query, { mesh, signal }) =>
        succeeded(await mesh.call({ endpoint: walletAgentEndpoints.walletOwnAddress, query, signal })),
    }),
    defineTool({
      name: 'wallet_balance',
      description: 'What your own address holds of the coin of a chain, as the chain says it now.',
      parameters,
      ...common,
      run: async (query, { mesh, signal }) =>
        succeeded(
          await mesh.call({
            endpoint: walletAgentEndpoints.walletOwnBalance,
            query,
            timeoutMs: replyTimeoutMs,
            signal,
          }),
        ),
    }),
  ]
}
