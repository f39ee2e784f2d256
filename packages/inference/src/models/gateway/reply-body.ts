import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import { collect, parsedAnswer } from '../wire/collect-reply.ts'
import type { CallAccount } from './call-account.ts'
import { refusalInBody } from './provider-problem.ts'
import type { RefusedBy } from './provider-problem.ts'
import { withErrorOf } from '../formats/api-format.ts'
import type { ApiFormat } from '../formats/api-format.ts'
import { emptyAnswer, isRecord } from '../formats/empty-answer.ts'
import type { CallBounds, ProviderReply } from '../llm-provider.ts'
import type { ClientConnection } from './read-on.ts'
import { charsIn, withCountedOutput } from '../formats/usage.ts'
import type { TokenUsage } from '../formats/usage.ts'

/** A call in progress, with the account that pays for it. */
export interface OpenCall {
  readonly account: CallAccount
  readonly client: ClientConnection
  readonly costUsdOf: (usage: TokenUsage) => number
  /** The answer bound that the mesh chose, reported to a client that can ask again; null if the mesh chose none. */
  readonly answerBound?: number | null
  readonly bounds?: CallBounds
  /** The answering model; it names the provider in a refusal. */
  readonly model?: RefusedBy
}

export type Hold = NonNullable<CallBounds['hold']>

/**
 * Reads and settles a whole answer, and adds its cost if the format has a place for it. Throws the Problem
 * `upstream-failed` for an invalid answer, and `model-failed` for an empty one.
 */
export async function wholeReply(
  reply: ProviderReply,
  call: OpenCall,
  form: WholeForm,
): Promise<{ status: number; headers: Record<string, string>; body: Uint8Array }> {
  try {
    const body = await collect(reply, call.bounds, (text) => settledBody(text, call, form))
    return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body }
  } finally {
    // After any error the provider may still have made and billed the answer. No effect once settled.
    call.account.settleUnconfirmed(call.client.why() ?? 'broken-off')
    reply.discard()
  }
}

interface WholeForm {
  readonly apiFormat: ApiFormat
  /** Rewrites an answer that official clients cannot read; null for all forms except chat completions. */
  readonly rewrite: ((text: string) => string) | null
}

/** The members that have the texts of an answer, each in one form. */
const contentNames = ['choices', 'content', 'output', 'candidates'] as const

function settledBody(given: string, call: OpenCall, { apiFormat, rewrite }: WholeForm): Uint8Array {
  const { text, answer } =
    rewrite === null ? { text: given, answer: parsedAnswer(given) } : readable(given, call, rewrite)
  const refusal =
    call.model && answer['choices'] === undefined
      ? refusalInBody(withErrorOf(apiFormat, answer), { by: call.model, where: 'answer' })
      : null
  const reported = apiFormat.usageOf(answer)
  if (refusal) {
    // A failed answer that reports a usage is billed by it.
    if (reported !== null) call.account.settle(reported)
    throw refusal.problem
  }
  const usage =
    reported && apiFormat.hasOutput
      ? withCountedOutput(
          reported,
          apiFormat.saysNothing(answer) ? 0 : charsIn(contentNames.map((name) => answer[name])),
        )
      : reported
  if (usage === null) call.account.settleUnconfirmed('no-usage')
  else call.account.settle(usage)
  if (apiFormat.saysNothing(answer)) throw emptyAnswer()
  const priced = usage === null ? null : apiFormat.usageWithCost?.(answer, call.costUsdOf(usage))
  if (priced) return Buffer.from(withUsageAdded(text, answer, { ...priced, ...boundWords(call.answerBound) }))
  // An answer without a usage gets the bound as a member of its own.
  const hasBound = usage === null && typeof call.answerBound === 'number'
  return Buffer.from(hasBound ? JSON.stringify({ ...answer, ...boundWords(call.answerBound) }) : text)
}

/** Returns the text unchanged if official clients can read it (it has choices or a refusal), else rewritten. */
function readable(
  given: string,
  { model }: OpenCall,
  rewrite: (text: string) => string,
): { readonly text: string; readonly answer: Readonly<Record<string, unknown>> } {
  const answer = readJsonQuietly(given, jsonLimits.modelAnswer)
  if (isRecord(answer)) {
    const { choices } = answer
    if (Array.isArray(choices) && choices.every(isRecord)) return { text: given, answer }
    const isRefusal = model !== undefined && refusalInBody(answer, { by: model, where: 'answer' }) !== null
    if (choices === undefined && isRefusal) return { text: given, answer }
  }
  const text = rewrite(given)
  return { text, answer: parsedAnswer(text) }
}

/** The first quote is left out because the search would otherwise stop at each quote. */
const usageName = 'usage":'

/**
 * Adds fields to the usage of an answer. They are inserted into the text if the usage occurs once and in standard
 * form, because serializing a long answer takes longer than parsing it. Pure.
 */
export function withUsageAdded(
  text: string,
  answer: Readonly<Record<string, unknown>>,
  usage: Readonly<Record<string, unknown>>,
): string {
  const at = text.indexOf(usageName)
  const from = at + usageName.length
  const before = JSON.stringify(answer['usage'])
  // A name may be written with escapes; the search could then find the wrong `usage`.
  const isOnlyOne = text[at - 1] === '"' && text.indexOf('usage"', from) === -1 && !text.includes('\\u')
  const isSpliced = isOnlyOne && text.startsWith(before, from)
  if (!isSpliced) return JSON.stringify({ ...answer, usage })
  return text.slice(0, from) + JSON.stringify(usage) + text.slice(from + before.length)
}

/** Returns the member that reports the answer bound; empty for undefined. Pure. */
export function boundWords(bound: number | null | undefined): { readonly answer_bound?: number | null } {
  return bound === undefined ? {} : { answer_bound: bound }
}
