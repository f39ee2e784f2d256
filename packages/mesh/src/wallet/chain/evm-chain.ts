import type { Clock } from '@flotilla/protocol/clock'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { evmChains } from '@flotilla/protocol/wallet-api'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import * as z from 'zod'
import { startDeadline } from '../../egress/index.ts'
import type { PinnedFetch } from '../../egress/index.ts'
import { readJson } from '../../intake/index.ts'
import type { Chain } from './chain.ts'

/** One question and its whole answer. */
const answerTimeoutMs = 10_000
/** Decompressed; the answers that are asked for are a hundredth of it. */
const replyMaxBytes = 64 * 1024
/** Of what the far end says against a question. */
const refusalMaxChars = 200

/** A quantity of JSON-RPC: 256 bits at most, and no zero before them but a lone one. */
const quantitySchema = z
  .string()
  .regex(/^0x(?:0|[1-9a-fA-F][0-9a-fA-F]{0,63})$/)
  .transform((text) => BigInt(text))

/** Loose, as what third parties send; exactly one of result and error is there. */
const replySchema = z.looseObject({
  id: z.number(),
  result: z.unknown().optional(),
  error: z.looseObject({ code: z.number(), message: z.string() }).nullish(),
})

export interface EvmChainDeps {
  readonly name: ChainName
  /** Where its JSON-RPC is, at the moment of each call. */
  readonly rpc: () => URL
  readonly fetch: PinnedFetch
  readonly clock: Clock
}

/** A chain of the EVM by JSON-RPC over HTTP. No redirect is followed, nothing is tried twice. */
export function createEvmChain({ name, rpc, fetch, clock }: EvmChainDeps): Chain {
  const { id: chainId } = evmChains[name]

  async function ask(
    url: URL,
    question: { method: string; params: readonly string[]; id: number },
    signal: AbortSignal,
  ) {
    const deadline = startDeadline(clock, answerTimeoutMs, signal)
    try {
      const reply = await fetch(
        {
          url,
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'application/json' },
          body: JSON.stringify({ jsonrpc: '2.0', ...question }),
        },
        deadline.signal,
      )
      try {
        const bytes = await readBounded(reply.body, deadline.signal)
        if (reply.status !== 200) throw failed(`${url.host} answered ${reply.status}`)
        return readAnswer(bytes.toString('utf8'), question.id)
      } finally {
        await reply.close()
      }
    } catch (error) {
      // Neither the library's words nor an address with a key in it go on from here.
      if (error instanceof Problem || signal.aborted) throw error
      throw failed(`${url.host} could not be asked`, error)
    } finally {
      deadline.clear()
    }
  }

  function readAnswer(text: string, id: number): bigint {
    const reply = parsed(text)
    if (reply.id !== id) throw failed('it answered another question than it was asked')
    if (reply.error != null) {
      throw failed(`it refused: ${plain(reply.error.message)} (${reply.error.code})`)
    }
    const quantity = quantitySchema.safeParse(reply.result)
    if (!quantity.success) throw failed('it answered with something that is no quantity')
    return quantity.data
  }

  function parsed(text: string): z.infer<typeof replySchema> {
    try {
      return replySchema.parse(readJson(text, jsonLimits.serverReply))
    } catch (cause) {
      throw failed('it answered in a form that is not JSON-RPC', cause)
    }
  }

  function failed(what: string, cause?: unknown): Problem {
    return new Problem('upstream-failed', { detail: `the RPC of ${name}: ${what}`, cause })
  }

  async function readBounded(body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Buffer> {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of body) {
      signal.throwIfAborted()
      bytes += chunk.length
      if (bytes > replyMaxBytes) throw failed(`its answer has more than ${replyMaxBytes} bytes`)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }

  return {
    name,
    async balances(addresses, signal) {
      signal.throwIfAborted()
      const url = rpc()
      const said = await ask(url, { method: 'eth_chainId', params: [], id: 0 }, signal)
      if (said !== BigInt(chainId)) {
        throw failed(`it is of chain ${said}, and ${name} is ${chainId}`)
      }
      const found: bigint[] = []
      for (const [at, address] of addresses.entries()) {
        found.push(
          await ask(url, { method: 'eth_getBalance', params: [address, 'latest'], id: at + 1 }, signal),
        )
      }
      return found
    },
  }
}

/** What strangers wrote, on one line of plain characters. Pure. */
function plain(text: string): string {
  return text
    .slice(0, refusalMaxChars)
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
}
