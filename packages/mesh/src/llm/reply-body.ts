import { Problem } from '@flotilla/protocol/problem'
import type { CallAccount } from './call-account.ts'
import type { ProviderReply } from './llm-provider.ts'
import { asProblem, errorEvent } from './openai-error.ts'
import { freshProgress, passStream } from './pass-stream.ts'
import { usageFrom } from './usage.ts'
import type { TokenUsage } from './usage.ts'

/** A call on its way: whose money, and how to cut it off. */
export interface OpenCall {
  readonly account: CallAccount
  readonly costUsdOf: (usage: TokenUsage) => number
  readonly cutting: AbortController
}

/** A whole answer, pictures included. */
const replyMaxBytes = 16 * 1024 * 1024

/** An answer in one piece, with `usage.cost_usd` added; settles. Throws the Problem `upstream-failed` for what is none. */
export async function wholeReply(
  reply: ProviderReply,
  call: OpenCall,
): Promise<{ status: number; headers: Record<string, string>; body: Uint8Array }> {
  try {
    const answer = parsedAnswer(await collect(reply))
    const usage = usageFrom(answer['usage'])
    if (usage === null) {
      call.account.settleEstimate({ ...freshProgress(), bytes: JSON.stringify(answer).length })
    } else {
      call.account.settle(usage)
      answer['usage'] = { ...(answer['usage'] as object), cost_usd: call.costUsdOf(usage) }
    }
    const body = new TextEncoder().encode(JSON.stringify(answer))
    return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body }
  } finally {
    // Whatever broke on the way: the answer was paid for by then.
    call.account.settleEstimate(null)
    reply.discard()
  }
}

/**
 * An answer as it comes. Settles by its usage, or by an estimate when it is cut, whether or not anybody ever reads
 * it. Never throws but for the client's own going.
 */
export function streamedReply(input: {
  readonly reply: Promise<ProviderReply>
  readonly call: OpenCall
  readonly wantsUsage: boolean
  readonly clientSignal: AbortSignal
}): AsyncIterable<Uint8Array> {
  const { call, clientSignal } = input
  const progress = freshProgress()

  function settle(): void {
    if (progress.usage === null) call.account.settleEstimate(progress)
    else call.account.settle(progress.usage)
  }

  clientSignal.addEventListener('abort', settle, { once: true })

  async function* pass(): AsyncGenerator<Uint8Array> {
    try {
      const reply = await input.reply
      yield* passStream(reply.body, progress, {
        wantsUsage: input.wantsUsage,
        costUsdOf: call.costUsdOf,
        onDone: settle,
      })
    } catch (error) {
      if (clientSignal.aborted) throw error
      settle()
      yield errorEvent(asProblem(error))
    } finally {
      clientSignal.removeEventListener('abort', settle)
      settle()
      call.cutting.abort()
    }
  }

  return pass()
}

async function collect(reply: ProviderReply): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of reply.body) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > replyMaxBytes)
      throw new Problem('upstream-failed', { detail: 'the answer of the model is too large' })
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parsedAnswer(text: string): Record<string, unknown> {
  let answer: unknown
  try {
    answer = JSON.parse(text)
  } catch (error) {
    throw new Problem('upstream-failed', { detail: 'the answer of the model is not JSON', cause: error })
  }
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
    throw new Problem('upstream-failed', { detail: 'the answer of the model is not an object' })
  }
  return answer as Record<string, unknown>
}
