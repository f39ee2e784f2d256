import { Problem } from '@flotilla/protocol/problem'
import { evmChains } from '@flotilla/protocol/wallet-api'
import type { EvmChainName } from '@flotilla/protocol/wallet-api'
import { Transaction } from 'micro-eth-signer'
import * as z from 'zod'
import { evmAddressOf } from './evm-address.ts'
import { decodeReturned, encodeCall } from './evm-call.ts'
import { effectsOf } from './evm-effects.ts'
import { feeMaxOf, feesOf } from './evm-fees.ts'
import { doesOf, requireNonce, unsignedColumn, unsignedText } from './evm-unsigned.ts'
import type { EvmCallRequest } from './evm-unsigned.ts'
import { replaceEvm } from './evm-replace.ts'
import { simulateEvm } from './evm-simulate.ts'
import { hex, logSchema } from './evm-wire.ts'
import { createJsonRpc, plainSymbol, quantitySchema } from './json-rpc.ts'
import type { JsonRpcDeps, RpcSession } from './json-rpc.ts'
import type { Fate, Order, PayingChain } from './paying-chain.ts'

/** Gas limit in tenths of the estimate. */
const gasTenths = 12n

const bytes = z.string().regex(/^0x(?:[0-9a-fA-F]{2})*$/)
const hashSchema = z.string().regex(/^0x[0-9a-f]{64}$/)
const receiptSchema = z
  .looseObject({
    transactionHash: hashSchema,
    status: quantitySchema,
    blockNumber: quantitySchema,
    blockHash: hashSchema,
    logs: z.array(logSchema).max(5000),
  })
  .nullable()
const blockSchema = z.looseObject({ hash: hashSchema }).nullable()
const pooledSchema = z.looseObject({ hash: hashSchema }).nullable()
/** Error messages of nodes that have the transaction already. */
const knownWords = /already known|already imported|known transaction|transaction already/i

/** An EVM chain by JSON-RPC over HTTP, with EIP-1559 transactions. */
export function createEvmChain(deps: JsonRpcDeps & { readonly name: EvmChainName }): PayingChain {
  const { name } = deps
  const { id: chainId, coin, finalBlocks } = evmChains[name]
  const { open, failed } = createJsonRpc(deps, async (session) => {
    const servedId = await session.ask('eth_chainId', [], quantitySchema)
    return servedId === BigInt(chainId) ? null : `the endpoint serves chain ${servedId}, not ${chainId}`
  })

  async function requestOf(
    session: RpcSession,
    from: string,
    order: Order,
  ): Promise<{ readonly request: EvmCallRequest; readonly called?: string }> {
    if (order.do === 'call') {
      const to = evmAddressOf(order.contract, 'a contract')
      const { data, signature } = encodeCall(order.call)
      await requireCode(session, to)
      return { request: { from, to, data, value: order.raw }, called: signature }
    }
    const to = evmAddressOf(order.to, 'a recipient')
    if (order.asset === null) return { request: { from, to, data: '0x', value: order.raw } }
    const token = evmAddressOf(order.asset, 'a token')
    const { data } = encodeCall({ function: 'transfer(address,uint256)', args: [to, String(order.raw)] })
    await requireCode(session, token)
    return { request: { from, to: token, data, value: 0n } }
  }

  const namedOf = (from: string, request: EvmCallRequest) =>
    ({ from, to: request.to, does: doesOf(name, request), warnings: [] }) as const

  async function requireCode(session: RpcSession, address: string): Promise<void> {
    if ((await session.ask('eth_getCode', [address, 'latest'], bytes)) === '0x') {
      throw new Problem('bad-request', {
        detail: `${address} is not a contract on ${name}`,
        repair: 'Check the chain: the same address can have another owner on another chain.',
      })
    }
  }

  /** Returns the fate of a transaction that is in a block; null if no block contains the transaction. */
  async function landed(session: RpcSession, from: string, id: string): Promise<Fate | null> {
    const receipt = await session.ask('eth_getTransactionReceipt', [id], receiptSchema)
    if (receipt === null) return null
    if (receipt.transactionHash !== id) throw failed('the endpoint returned another transaction')
    const newest = await session.ask('eth_blockNumber', [], quantitySchema)
    const block = await session.ask('eth_getBlockByNumber', [hex(receipt.blockNumber), false], blockSchema)
    // The chain was reorganized between the two requests; the next poll sees the result.
    if (block?.hash !== receipt.blockHash) return { kind: 'waiting' }
    return {
      kind: 'landed',
      succeeded: receipt.status === 1n,
      block: Number(receipt.blockNumber),
      final: newest - receipt.blockNumber >= BigInt(finalBlocks),
      effects: effectsOf(from, { logs: receipt.logs, sentRaw: 0n }),
    }
  }

  /** True if another transaction with this nonce is in a final block. */
  async function isReplaced(session: RpcSession, from: string, nonce: number): Promise<boolean> {
    const newest = await session.ask('eth_blockNumber', [], quantitySchema)
    const deep = newest - BigInt(finalBlocks)
    if (deep < 0n) return false
    return (await session.ask('eth_getTransactionCount', [from, hex(deep)], quantitySchema)) > BigInt(nonce)
  }

  return {
    name,
    async balances(addresses, signal) {
      const session = await open(signal)
      const found: bigint[] = []
      for (const address of addresses) {
        found.push(await session.ask('eth_getBalance', [address, 'latest'], quantitySchema))
      }
      return found
    },
    async plan(from, order, signal) {
      const session = await open(signal)
      const { request, ...named } = await requestOf(session, from, order)
      const nonce = await session.ask('eth_getTransactionCount', [from, 'pending'], quantitySchema)
      const fees = await feesOf({ session, failed })
      const simulation = await simulateEvm(session, request)
      const holds = await session.ask('eth_getBalance', [from, 'latest'], quantitySchema)
      const place = { kind: 'nonce', nonce: Number(nonce) } as const
      const plan = async (gasLimit: bigint) => ({
        ...named,
        ...namedOf(from, request),
        place,
        feeMaxRaw: await feeMaxOf({ session, name, failed }, { ...fees, gasLimit, data: request.data }),
        unsigned: unsignedText({ ...request, ...fees, gasLimit }),
      })
      if (simulation.kind === 'fails') return { ...(await plan(0n)), simulation }
      const gas = await session.answer('eth_estimateGas', [
        { from, to: request.to, data: request.data, value: hex(request.value) },
      ])
      if (gas.kind === 'refused') {
        const reason = holds < request.value ? `${from} has too little ${coin}` : gas.reason
        return { ...(await plan(0n)), simulation: { kind: 'fails', reason } }
      }
      const estimated = quantitySchema.safeParse(gas.result)
      if (!estimated.success) throw failed('the endpoint returned no gas estimate')
      const whole = await plan((estimated.data * gasTenths) / 10n)
      return holds < request.value + whole.feeMaxRaw
        ? {
            ...whole,
            simulation: { kind: 'fails', reason: `${from} has too little ${coin} for payment and fee` },
          }
        : { ...whole, simulation }
    },
    sign(plan, place, key) {
      const unsigned = unsignedColumn.parse(plan.unsigned)
      const transaction = Transaction.prepare({
        chainId: BigInt(chainId),
        nonce: BigInt(requireNonce(place)),
        to: unsigned.to,
        data: unsigned.data,
        value: BigInt(unsigned.value),
        gasLimit: BigInt(unsigned.gasLimit),
        maxFeePerGas: BigInt(unsigned.maxFeePerGas),
        maxPriorityFeePerGas: BigInt(unsigned.maxPriorityFeePerGas),
      })
      // Signing is deterministic: the same transaction has the same bytes.
      const signed = transaction.signBy(key, false)
      return { id: `0x${signed.hash.replace(/^0x/, '')}`, bytes: signed.toHex() }
    },
    async broadcast(signed, signal) {
      const session = await open(signal)
      const reply = await session.answer('eth_sendRawTransaction', [signed.bytes])
      if (reply.kind === 'refused') {
        if (knownWords.test(reply.reason)) return
        throw failed(`the endpoint rejected the transaction: ${reply.reason} (${reply.code})`)
      }
      if (reply.result !== signed.id) throw failed('the endpoint accepted the transaction under another id')
    },
    replacing: async (sent, how, signal) =>
      replaceEvm({ session: await open(signal), name, failed }, sent, how),
    // A foreign signer on this chain is detected by the nonces that it uses, when payments are signed and followed.
    signedElsewhere: async () => null,
    async follow({ from, place, id }, signal) {
      const nonce = requireNonce(place)
      const session = await open(signal)
      const found = await landed(session, from, id)
      if (found !== null) return found
      if ((await session.ask('eth_getTransactionByHash', [id], pooledSchema)) !== null)
        return { kind: 'waiting' }
      if (!(await isReplaced(session, from, nonce))) return { kind: 'missing' }
      // The transaction may have landed since the first request.
      return (await landed(session, from, id)) ?? { kind: 'replaced' }
    },
    async token(address, signal) {
      const session = await open(signal)
      const to = evmAddressOf(address, 'a token')
      await requireCode(session, to)
      const [decimals] = await readCall(session, to, {
        function: 'decimals()',
        args: [],
        returns: ['uint256'],
      })
      const count = Number(decimals)
      if (!Number.isInteger(count) || count > 36)
        throw failed(`the token ${to} reports an impossible number of decimals`)
      const symbol = await readCall(session, to, {
        function: 'symbol()',
        args: [],
        returns: ['string'],
      }).catch(() => ['?'])
      return { decimals: count, symbol: plainSymbol(String(symbol[0])) || '?' }
    },
    async held(token, address, signal) {
      const session = await open(signal)
      const to = evmAddressOf(token, 'a token')
      await requireCode(session, to)
      const call = { function: 'balanceOf(address)', args: [address], returns: ['uint256'] }
      return BigInt(z.string().parse((await readCall(session, to, call))[0]))
    },
    async read(contract, call, signal) {
      const session = await open(signal)
      const to = evmAddressOf(contract, 'a contract')
      await requireCode(session, to)
      return readCall(session, to, call)
    },
  }

  async function readCall(
    session: RpcSession,
    to: string,
    call: Parameters<PayingChain['read']>[1],
  ): Promise<readonly unknown[]> {
    const { data, signature } = encodeCall(call)
    const answer = await session.answer('eth_call', [{ to, data }, 'latest'])
    if (answer.kind === 'refused') {
      throw new Problem('unprocessable', { detail: `${signature} of ${to} reverted: ${answer.reason}` })
    }
    const returned = bytes.safeParse(answer.result)
    if (!returned.success) throw failed('the endpoint answered a call with a value that is not bytes')
    try {
      return decodeReturned(call.returns, returned.data)
    } catch (cause) {
      if (cause instanceof Problem) throw cause
      throw new Problem('unprocessable', {
        detail: `${signature} of ${to} does not return (${call.returns.join(',')})`,
        cause,
      })
    }
  }
}
