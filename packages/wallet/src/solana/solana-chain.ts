import { Problem } from '@flotilla/protocol/problem'
import type { PayingChain, Place } from '../chain/paying-chain.ts'
import { findForeign } from './find-foreign.ts'
import { followTransfer } from './follow-transfer.ts'
import { signMessage, withBlockhash } from './message.ts'
import { planTransfer } from './plan-transfer.ts'
import { readLamports, sendWire } from './solana-calls.ts'
import { openSolanaRpc } from './solana-rpc.ts'
import type { SolanaRpcDeps } from './solana-rpc.ts'
import { tokenFacts, tokenHeld } from './token-facts.ts'

/** Solana by JSON-RPC. */
export function createSolanaChain(
  deps: SolanaRpcDeps & { readonly randomBytes: (count: number) => Buffer },
): PayingChain {
  const open = (signal: AbortSignal) => openSolanaRpc(deps, signal)
  return {
    name: deps.name,
    async balances(addresses, signal) {
      const rpc = await open(signal)
      return addresses.length === 0 ? [] : readLamports(rpc, addresses)
    },
    async plan(from, order, signal) {
      if (order.do === 'call') throw noCalls(deps.name)
      return planTransfer(await open(signal), { chain: deps.name, from, order }, deps.randomBytes)
    },
    sign: ({ unsigned }, place, key) =>
      signMessage(withBlockhash(Buffer.from(unsigned, 'base64'), expiring(place).blockhash), key),
    async broadcast({ id, bytes }, signal) {
      const rpc = await open(signal)
      const sentId = await sendWire(rpc, bytes)
      if (sentId !== id) throw rpc.failed('the endpoint reports that it sent another transaction')
    },
    replacing: () =>
      Promise.reject(
        new Problem('unprocessable', {
          detail: `a payment on ${deps.name} cannot be replaced or cancelled`,
          repair:
            'Wait: the payment is confirmed or expires within minutes; an expired payment no longer counts.',
        }),
      ),
    async signedElsewhere(address, known, signal) {
      return findForeign(await open(signal), address, known)
    },
    async follow({ from, place, id }, signal) {
      return followTransfer(await open(signal), { from, id, place: expiring(place) })
    },
    async token(address, signal) {
      return tokenFacts(await open(signal), address)
    },
    async held(token, address, signal) {
      return tokenHeld(await open(signal), token, address)
    },
    read: () => Promise.reject(noCalls(deps.name)),
  }
}

function expiring(place: Place) {
  if (place.kind !== 'expiring') throw new Error('transactions of this chain have no numbers')
  return place
}

function noCalls(name: string): Problem {
  return new Problem('bad-request', {
    detail: `programs of ${name} cannot be called, because their effects cannot be checked`,
    repair: 'Transfer the coin of this chain or a token, or use a contract on an EVM chain.',
  })
}
