import { walletAgentEndpoints } from '@flotilla/protocol/wallet-agent-api'
import { chainNames, evmChainNames } from '@flotilla/protocol/wallet-api'
import { paymentLimits } from '@flotilla/protocol/wallet-payments'
import { anyJson, choice, text, textList, withDefault } from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'

const replyTimeoutMs = 30_000
/** Timeout in ms, with the mesh's calls to the chain and to price sources; the mesh itself times out earlier. */
const payTimeoutMs = 90_000

const { addressMaxChars, amountMaxChars, functionMaxChars } = paymentLimits

const chain = choice('Which chain', chainNames)
const evmChain = choice('Which chain', evmChainNames)
const contract = text('Address of the contract', { minChars: 20, maxChars: addressMaxChars })
const functionText = text('The function with its parameter types, such as balanceOf(address)', {
  minChars: 3,
  maxChars: functionMaxChars,
})
const args = anyJson(
  'List of its arguments: integers as strings of digits, in base units; addresses and bytes as strings with 0x; tuples as lists',
)
const coinAmount = withDefault(
  text('Amount of the chain’s native coin to send with the call, such as 0.25', { maxChars: amountMaxChars }),
  '0',
)
const token = withDefault(
  text('Address of the token; empty for the native coin of the chain', { maxChars: addressMaxChars }),
  '',
)
const call = { chain: evmChain, contract, function: functionText, args, amount: coinAmount }
const outcomes =
  'It is paid once, even if this call is interrupted and repeated. The answer confirms that it was signed and sent; wallet_payments shows the outcome. If a person must approve it, the answer says so: end your turn, and you are called again with the decision.'

/** Wallet tools. The mesh derives addresses, calls chains, decides and signs; keys and RPC endpoints stay in it. */
export function walletTools(): Tool[] {
  const asks = { effect: 'none', parallelSafe: true, timeoutMs: meshToolTimeoutMs } as const
  const pays = { effect: 'mesh', timeoutMs: meshToolTimeoutMs } as const
  return [
    defineTool({
      name: 'wallet_address',
      description: 'Returns your own address on a chain, to receive payments.',
      parameters: { chain },
      ...asks,
      run: async (query, { mesh, signal }) =>
        succeeded(await mesh.call({ endpoint: walletAgentEndpoints.walletOwnAddress, query, signal })),
    }),
    defineTool({
      name: 'wallet_balance',
      description:
        'Returns the balance of your own address, in the native coin of a chain or in a token, as the chain reports it now.',
      parameters: { chain, token },
      ...asks,
      run: async ({ token: address, ...query }, { mesh, signal }) =>
        succeeded(
          await mesh.call({
            endpoint: walletAgentEndpoints.walletOwnBalance,
            query: address === '' ? query : { ...query, token: address },
            timeoutMs: replyTimeoutMs,
            signal,
          }),
        ),
    }),
    defineTool({
      name: 'wallet_read_contract',
      description:
        'Calls a read-only function of a contract, such as balanceOf(address) of a token, and returns its result. Costs nothing.',
      parameters: {
        chain: evmChain,
        contract,
        function: functionText,
        args,
        returns: textList('Types of its results, such as uint256', { maxItems: 20, maxChars: 200 }),
      },
      ...asks,
      run: async (input, { mesh, signal }) =>
        succeeded(
          await mesh.call({
            endpoint: walletAgentEndpoints.walletRead,
            body: { ...input, returns: [...input.returns] },
            timeoutMs: payTimeoutMs,
            signal,
          }),
        ),
    }),
    defineTool({
      name: 'wallet_simulate',
      description:
        'Simulates a contract call: which amounts it would move, which allowances it would grant, its cost, and its share of your limits. Sends nothing.',
      parameters: call,
      ...asks,
      run: async (body, { mesh, signal }) =>
        succeeded(
          await mesh.call({
            endpoint: walletAgentEndpoints.walletSimulate,
            body,
            timeoutMs: payTimeoutMs,
            signal,
          }),
        ),
    }),
    defineTool({
      name: 'wallet_transfer',
      description: `Sends the native coin of a chain, or a token, from your own address. ${outcomes}`,
      parameters: {
        chain,
        to: text('Address of the recipient', { minChars: 20, maxChars: addressMaxChars }),
        amount: text('Amount in whole units as digits, such as 0.25', {
          minChars: 1,
          maxChars: amountMaxChars,
        }),
        token,
      },
      ...pays,
      run: async ({ token: address, ...body }, { mesh, signal, idempotencyKey }) =>
        succeeded(
          await mesh.call({
            endpoint: walletAgentEndpoints.walletTransfer,
            body: address === '' ? body : { ...body, token: address },
            timeoutMs: payTimeoutMs,
            signal,
            idempotencyKey,
          }),
        ),
    }),
    defineTool({
      name: 'wallet_execute',
      description: `Calls a function of a contract that the owner lets you call, from your own address. ${outcomes}`,
      parameters: call,
      ...pays,
      run: async (body, { mesh, signal, idempotencyKey }) =>
        succeeded(
          await mesh.call({
            endpoint: walletAgentEndpoints.walletExecute,
            body,
            timeoutMs: payTimeoutMs,
            signal,
            idempotencyKey,
          }),
        ),
    }),
    defineTool({
      name: 'wallet_payments',
      description: `Your ${paymentLimits.listedToAgentMax} newest payments, and the outcome of each on its chain.`,
      parameters: {},
      ...asks,
      run: async (_input, { mesh, signal }) =>
        succeeded(await mesh.call({ endpoint: walletAgentEndpoints.walletOwnPayments, signal })),
    }),
  ]
}
