import type { Clock } from '@flotilla/protocol/clock'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import * as z from 'zod'
import { startDeadline } from '@flotilla/egress/egress'
import type { PinnedFetch } from '@flotilla/egress/egress'
import { readJsonExactly } from '@flotilla/foundation/intake'
import { productVersion } from '@flotilla/foundation/platform'

/** The time limit for one request with its whole answer, in milliseconds. */
const answerTimeoutMs = 10_000
/** The maximum size of a decompressed answer, in bytes. Calls other than simulations need 0.1 % of it. */
const replyMaxBytes = 1024 * 1024
/** The maximum length of an error message of the endpoint, in characters. */
const refusalMaxChars = 200
/** The maximum length of a token's symbol, in characters. */
const symbolMaxChars = 20
/** The headers of each request. Some providers reject requests without a User-Agent. */
const headers = {
  'content-type': 'application/json',
  accept: 'application/json',
  'user-agent': `flotilla/${productVersion}`,
}

/** A JSON-RPC quantity: a hexadecimal number of at most 256 bits, without leading zeros. */
export const quantitySchema = z
  .string()
  .regex(/^0x(?:0|[1-9a-fA-F][0-9a-fA-F]{0,63})$/)
  .transform((text) => BigInt(text))

/** Loose, because third parties add fields; exactly one of result and error must be present. */
const replySchema = z.looseObject({
  id: z.number(),
  result: z.unknown().optional(),
  error: z.looseObject({ code: z.number(), message: z.string() }).nullish(),
})

export type RpcAnswer =
  | { readonly kind: 'result'; readonly result: unknown }
  /** The endpoint's error message in plain characters. */
  | { readonly kind: 'refused'; readonly code: number; readonly reason: string }

/** An endpoint whose chain was verified. */
export interface RpcSession {
  /** The endpoint's answer, including an error. */
  answer(method: string, params: readonly unknown[]): Promise<RpcAnswer>
  /** Returns an answer that matches the schema. Throws Problem `upstream-failed` for any other answer. */
  ask<Schema extends z.ZodType>(
    method: string,
    params: readonly unknown[],
    schema: Schema,
  ): Promise<z.output<Schema>>
}

export interface JsonRpcDeps {
  readonly name: ChainName
  /** Returns the RPC address, which is read for each call. */
  readonly rpc: () => URL
  readonly fetch: PinnedFetch
  readonly clock: Clock
}

export type OpenRpc = (signal: AbortSignal) => Promise<RpcSession>

/**
 * Creates sessions of JSON-RPC over HTTP, which follow no redirects and retry nothing. Each session calls
 * `foreign` first, which returns why the endpoint serves another chain, or null if it serves this chain.
 */
export function createJsonRpc(
  { name, rpc, fetch, clock }: JsonRpcDeps,
  foreign: (session: RpcSession) => Promise<string | null>,
): {
  readonly open: OpenRpc
  readonly failed: (what: string, cause?: unknown) => Problem
} {
  async function ask(
    url: URL,
    question: { method: string; params: readonly unknown[]; id: number },
    signal: AbortSignal,
  ): Promise<RpcAnswer> {
    const deadline = startDeadline(clock, answerTimeoutMs, signal)
    try {
      const reply = await fetch(
        {
          url,
          method: 'POST',
          headers,
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
      // Other errors are replaced, because their message may contain the address, which may contain an API key.
      if (error instanceof Problem || signal.aborted) throw error
      throw failed(`${url.host} cannot be reached`, error)
    } finally {
      deadline.clear()
    }
  }

  function readAnswer(text: string, id: number): RpcAnswer {
    const reply = parsed(text)
    if (reply.id !== id) throw failed('the endpoint answered with another id than that of the request')
    if (reply.error == null) return { kind: 'result', result: reply.result }
    return { kind: 'refused', code: reply.error.code, reason: plainLine(reply.error.message) }
  }

  function parsed(text: string): z.infer<typeof replySchema> {
    try {
      return replySchema.parse(readJsonExactly(text, jsonLimits.serverReply))
    } catch (cause) {
      throw failed('the answer is not JSON-RPC', cause)
    }
  }

  function failed(what: string, cause?: unknown): Problem {
    return new Problem('upstream-failed', { detail: `the RPC endpoint of ${name} failed: ${what}`, cause })
  }

  async function readBounded(body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Buffer> {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of body) {
      signal.throwIfAborted()
      bytes += chunk.length
      if (bytes > replyMaxBytes) throw failed(`the answer has more than ${replyMaxBytes} bytes`)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }

  return {
    failed,
    open: async (signal) => {
      signal.throwIfAborted()
      const url = rpc()
      let id = 0
      const answer: RpcSession['answer'] = (method, params) => ask(url, { method, params, id: id++ }, signal)
      const session: RpcSession = {
        answer,
        ask: async (method, params, schema) => {
          const reply = await answer(method, params)
          if (reply.kind === 'refused')
            throw failed(`the endpoint rejected the call: ${reply.reason} (${reply.code})`)
          const read = schema.safeParse(reply.result)
          if (!read.success) throw failed(`the answer to ${method} has an unknown form`)
          return read.data
        },
      }
      const fault = await foreign(session)
      if (fault !== null) throw failed(fault)
      return session
    },
  }
}

/** Returns untrusted text as one line of plain characters. Pure. */
export function plainLine(text: string, maxChars = refusalMaxChars): string {
  return text
    .slice(0, maxChars)
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
}

/**
 * Returns a token's symbol in plain characters without accents; other visible characters become
 * question marks. Pure.
 */
export function plainSymbol(text: string): string {
  return Array.from(text.slice(0, symbolMaxChars * 4).normalize('NFKD'))
    .filter((char) => !/\p{Cf}|\p{Cc}|\p{M}|\s/u.test(char))
    .slice(0, symbolMaxChars)
    .map((char) => (/[\x21-\x7e]/.test(char) ? char : '?'))
    .join('')
}
