import type { JsonValue } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { readJson } from '../../intake/read-json.ts'
import { pipeBytes } from './byte-stream.ts'
import type { CallAccount } from './call-account.ts'
import type { Dialect } from './dialect.ts'
import { emptyAnswer } from './empty-answer.ts'
import type { CallBounds, ProviderReply } from '../providers/llm-provider.ts'
import type { Hearing } from './read-on.ts'
import type { TokenUsage } from '../formats/usage.ts'

/** A call on its way: whose money it is. */
export interface OpenCall {
  readonly account: CallAccount
  readonly hearing: Hearing
  readonly costUsdOf: (usage: TokenUsage) => number
  /** Told to a client that asks again: the bound that the mesh chose for the answer, null where it chose none. */
  readonly answerBound?: number | null
  readonly bounds?: CallBounds
}

export type Hold = NonNullable<CallBounds['hold']>

/** A whole answer, pictures included. */
const replyMaxBytes = 16 * 1024 * 1024

/**
 * An answer in one piece, with its cost where the form has a place for it; settles. Throws the Problem
 * `upstream-failed` for what is none, and `model-failed` for one that says nothing.
 */
export async function wholeReply(
  reply: ProviderReply,
  call: OpenCall,
  dialect: Dialect,
): Promise<{ status: number; headers: Record<string, string>; body: Uint8Array }> {
  try {
    const text = await collect(reply, call.bounds)
    const body = spendIn(call.bounds, () => settledBody(text, call, dialect))
    return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body }
  } finally {
    // Whatever broke on the way: the answer may have been made by then.
    call.account.settleUnconfirmed(call.hearing.why() ?? 'broken-off')
    reply.discard()
  }
}

function settledBody(text: string, call: OpenCall, dialect: Dialect): Uint8Array {
  const answer = parsedAnswer(text)
  const usage = dialect.usageOf(answer)
  if (usage === null) call.account.settleUnconfirmed('no-usage')
  else call.account.settle(usage)
  if (dialect.saysNothing(answer)) throw emptyAnswer()
  const told = usage === null ? null : dialect.usageWithCost?.(answer, call.costUsdOf(usage))
  const usageTold = told && { ...told, ...boundWords(call.answerBound) }
  // Without a usage it stands beside the answer.
  const hasBound = usage === null && typeof call.answerBound === 'number'
  const more = usageTold ? { usage: usageTold } : hasBound ? boundWords(call.answerBound) : null
  return Buffer.from(more ? JSON.stringify({ ...answer, ...more }) : text)
}

/** Does what returns at once on the share of whoever calls, where one is named. */
export function spendIn<T>(bounds: CallBounds | undefined, work: () => T): T {
  return bounds?.spend === undefined ? work() : bounds.spend(work)
}

/** As it stands beside the usage. Pure. */
export function boundWords(bound: number | null | undefined): { readonly answer_bound?: number | null } {
  return bound === undefined ? {} : { answer_bound: bound }
}

function tooLarge(): Problem {
  return new Problem('upstream-failed', { detail: 'the answer of the model is too large' })
}

/** The pieces of an answer, joined. Rejects with what the reply fails with, what `hold` throws, or the Problem `upstream-failed`. */
export function collect(reply: ProviderReply, bounds: CallBounds = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let bytes = 0
    pipeBytes(reply.body, {
      write(chunk) {
        bytes += chunk.length
        try {
          if (bytes > replyMaxBytes) throw tooLarge()
          bounds.hold?.(chunk.length)
          chunks.push(chunk)
          return true
        } catch (error) {
          chunks.length = 0
          reject(error)
          return false
        }
      },
      end: () => resolve(spendIn(bounds, () => Buffer.concat(chunks).toString('utf8'))),
      fail: reject,
    })
  })
}

export function parsedAnswer(text: string): Record<string, unknown> {
  const answer = answerIn(text)
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
    throw new Problem('upstream-failed', { detail: 'the answer of the model is not an object' })
  }
  return answer
}

function answerIn(text: string): JsonValue {
  try {
    return readJson(text, jsonLimits.modelAnswer)
  } catch (cause) {
    const isTooMuch = cause instanceof Problem && cause.code === 'body-too-large'
    const detail = isTooMuch ? 'the answer of the model is too large' : 'the answer of the model is not JSON'
    throw new Problem('upstream-failed', { detail, cause })
  }
}
