import type { Clock } from '@flotilla/protocol/clock'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import * as z from 'zod'
import { startDeadline } from '../../egress/index.ts'
import type { PinnedFetch } from '../../egress/index.ts'
import { readJsonExactly } from '../../intake/index.ts'
import { productVersion } from '../../platform/index.ts'

/** One question and its whole answer. */
const answerTimeoutMs = 10_000
/** Decompressed; what a call would do is told in logs, everything else in a thousandth of it. */
const replyMaxBytes = 1024 * 1024
/** Of what the far end says against a question. */
const refusalMaxChars = 200
/** Of what a token says of its own name. */
const symbolMaxChars = 20
/** Providers turn callers without a name away. */
const headers = {
  'content-type': 'application/json',
  accept: 'application/json',
  'user-agent': `flotilla/${productVersion}`,
}

/** A quantity of JSON-RPC: 256 bits at most, and no zero before them but a lone one. */
export const quantitySchema = z
  .string()
  .regex(/^0x(?:0|[1-9a-fA-F][0-9a-fA-F]{0,63})$/)
  .transform((text) => BigInt(text))

/** Loose, as what third parties send; exactly one of result and error is there. */
const replySchema = z.looseObject({
  id: z.number(),
  result: z.unknown().optional(),
  error: z.looseObject({ code: z.number(), message: z.string() }).nullish(),
})

export type RpcAnswer =
  | { readonly kind: 'result'; readonly result: unknown }
  /** What it says against the question, in plain characters. */
  | { readonly kind: 'refused'; readonly code: number; readonly reason: string }

/** A far end that has said which chain it is. */
export interface RpcSession {
  /** What it says, also against the question. */
  answer(method: string, params: readonly unknown[]): Promise<RpcAnswer>
  /** Of that form, or Problem `upstream-failed`. */
  ask<Schema extends z.ZodType>(
    method: string,
    params: readonly unknown[],
    schema: Schema,
  ): Promise<z.output<Schema>>
}

export interface JsonRpcDeps {
  readonly name: ChainName
  /** Where its JSON-RPC is, at the moment of each call. */
  readonly rpc: () => URL
  readonly fetch: PinnedFetch
  readonly clock: Clock
}

export type OpenRpc = (signal: AbortSignal) => Promise<RpcSession>

/**
 * JSON-RPC over HTTP. No redirect is followed, nothing is tried twice. `foreign` is asked before anything else of every
 * session; what it says is why the far end is of another chain, null where it is of this one.
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
      // Neither the library's words nor an address with a key in it go on from here.
      if (error instanceof Problem || signal.aborted) throw error
      throw failed(`${url.host} could not be asked`, error)
    } finally {
      deadline.clear()
    }
  }

  function readAnswer(text: string, id: number): RpcAnswer {
    const reply = parsed(text)
    if (reply.id !== id) throw failed('it answered another question than it was asked')
    if (reply.error == null) return { kind: 'result', result: reply.result }
    return { kind: 'refused', code: reply.error.code, reason: plainLine(reply.error.message) }
  }

  function parsed(text: string): z.infer<typeof replySchema> {
    try {
      return replySchema.parse(readJsonExactly(text, jsonLimits.serverReply))
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
    failed,
    open: async (signal) => {
      signal.throwIfAborted()
      const url = rpc()
      let id = 0
      const answer: RpcSession['answer'] = (method, params) => ask(url, { method, params, id: id++ }, signal)
      const session: RpcSession = {
        answer,
        ask: async (method, params, schema) => {
          const said = await answer(method, params)
          if (said.kind === 'refused') throw failed(`it refused: ${said.reason} (${said.code})`)
          const read = schema.safeParse(said.result)
          if (!read.success) throw failed(`it answered ${method} with something of another form`)
          return read.data
        },
      }
      const fault = await foreign(session)
      if (fault !== null) throw failed(fault)
      return session
    },
  }
}

/** What strangers wrote, on one line of plain characters. Pure. */
export function plainLine(text: string, maxChars = refusalMaxChars): string {
  return text
    .slice(0, maxChars)
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
}

/** What a token calls itself, in plain characters without their accents; each other one that is seen is a question mark. Pure. */
export function plainSymbol(text: string): string {
  return Array.from(text.slice(0, symbolMaxChars * 4).normalize('NFKD'))
    .filter((char) => !/\p{Cf}|\p{Cc}|\p{M}|\s/u.test(char))
    .slice(0, symbolMaxChars)
    .map((char) => (/[\x21-\x7e]/.test(char) ? char : '?'))
    .join('')
}
