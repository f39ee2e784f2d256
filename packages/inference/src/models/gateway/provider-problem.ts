import { readRefusalText } from '../providers/read-reply-text.ts'
import { Problem, withChanges } from '@flotilla/protocol/problem'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import { redact } from '@flotilla/egress/credentials'
import type { Secret } from '@flotilla/egress/credentials'
import { errorWordsIn, isFilledError } from '../formats/answer/error-in-answer.ts'
import type { JudgeError, ProviderReply } from '../llm-provider.ts'
import { providerVariable } from '../providers/provider-setup.ts'
import { judgeRefusal } from '../refusals/judge-refusal.ts'
import type { IsEchoed, Judged } from '../refusals/judge-refusal.ts'
import { accountAt } from '../refusals/provider-accounts.ts'
import { readRefusal, refusalInAnswer } from '../refusals/read-refusal.ts'
import type { RefusalFacts } from '../refusals/read-refusal.ts'
import type { RefusalMeaning } from '../refusals/refusal-table.ts'

/** The bytes of an error response that are read to find its message. */
const refusalMaxBytes = 16 * 1024
/** How much of a provider's error message is quoted in a problem, in characters. */
const messageMaxChars = 500
/** The retry time for a rate limit that does not state one. */
const usualRetryAfterSeconds = 10

/** The provider that rejected the call. */
export interface RefusedBy {
  readonly provider: string
  readonly baseUrl: string | null
  readonly secrets: readonly Secret[]
}

/** A provider's refusal, parsed and classified. */
export interface Refusal extends Judged {
  readonly problem: Problem
  readonly status: number
  /** The wait that the provider asks for, milliseconds; 0 if the provider states none. */
  readonly retryAfterMs: number
}

const codeByMeaning: Readonly<Record<RefusalMeaning, ProblemCode>> = {
  credit: 'provider-quota-exhausted',
  quota: 'provider-quota-exhausted',
  key: 'provider-refused',
  access: 'provider-refused',
  model: 'model-unknown',
  history: 'history-refused',
  'too-large': 'prompt-too-long',
  'too-long': 'prompt-too-long',
  rate: 'rate-limited',
  overloaded: 'model-overloaded',
  output: 'upstream-failed',
}

/** Codes by status, for an unknown error. A wrong key is the owner's fault and must not look like the caller's. */
const codeByStatus: Readonly<Partial<Record<number, ProblemCode>>> = {
  400: 'model-call-rejected',
  404: 'model-unknown',
  408: 'upstream-timeout',
  413: 'model-call-rejected',
  422: 'model-call-rejected',
  504: 'upstream-timeout',
}

/**
 * Classifies an error reply; the problem repeats the provider's words and never a key. `isEchoed` recognizes words of
 * the request. Reads the reply's body.
 */
export async function readRefusalOf(
  reply: ProviderReply,
  by: RefusedBy,
  isEchoed: IsEchoed | null = null,
): Promise<Refusal> {
  const text = await readRefusalText(reply, refusalMaxBytes)
  const source = {
    status: reply.status,
    ...placeOf(by),
    errorType: reply.errorType ?? null,
    repliedAt: reply.repliedAt ?? null,
  }
  const facts = readRefusal(text, source)
  const named = reply.retryAfterSeconds === null ? null : reply.retryAfterSeconds * 1000
  return refusalFrom({ ...facts, retryAfterMs: named ?? facts.retryAfterMs }, by, isEchoed)
}

/** Returns the problem that the caller gets for a provider's refusal. Reads the reply's body. */
export async function problemFromRefusal(reply: ProviderReply, by: RefusedBy): Promise<Problem> {
  return (await readRefusalOf(reply, by)).problem
}

/** Refusals that pass soon. */
const passing: readonly RefusalMeaning[] = ['rate', 'overloaded', 'output']

/**
 * Finds an error in place of an answer: in a body with status 200, or in a stream event. An error that only says that
 * something is temporary counts as a broken answer. Null if there is no error. Pure.
 */
export function refusalInBody(
  answer: Readonly<Record<string, unknown>>,
  { by, where }: { readonly by: RefusedBy; readonly where: 'answer' | 'stream' },
): Refusal | null {
  const { error } = answer
  if (!isFilledError(error)) return null
  const read = refusalInAnswer(answer, { status: 200, ...placeOf(by) })
  // An error inside an answer has more forms than a refusal with a status of its own.
  const facts = read.message === '' ? { ...read, message: errorWordsIn(error) } : read
  const refusal = refusalFrom(facts, by)
  const isNamed = facts.status > 0 || (refusal.means !== null && facts.codes.length > 0)
  const stays = refusal.means !== null && !passing.includes(refusal.means)
  if (isNamed || stays) return refusal
  const message = redact(facts.message, by.secrets).slice(0, messageMaxChars)
  const detail = `the ${where} reported an error: ${message === '' ? 'without a message' : message}`
  return { ...refusal, problem: new Problem('upstream-failed', { detail }) }
}

/** Returns the classification of errors inside an answer of this provider. */
export function judgeOf(by: RefusedBy): JudgeError {
  return (answer) => refusalInBody(answer, { by, where: 'stream' })?.problem ?? null
}

function placeOf({ provider, baseUrl }: RefusedBy): { readonly provider: string; readonly host: string } {
  return { provider, host: baseUrl === null ? '' : new URL(baseUrl).hostname }
}

function refusalFrom(facts: RefusalFacts, by: RefusedBy, isEchoed: IsEchoed | null = null): Refusal {
  const judged = judgeRefusal(facts, isEchoed)
  const retryAfterMs = facts.retryAfterMs ?? 0
  return { ...judged, problem: problemOf(facts, judged, by), status: facts.status, retryAfterMs }
}

function problemOf(facts: RefusalFacts, { means, part, affects }: Judged, by: RefusedBy): Problem {
  const { status, retryAfterMs } = facts
  const message = redact(facts.message, by.secrets).slice(0, messageMaxChars)
  const how = status === 0 ? 'reported an error in its answer' : `answered ${status}`
  const detail = `${by.provider} ${how}${message === '' ? '' : `: ${message}`}`
  const extra = {
    provider: by.provider,
    provider_status: status,
    ...(means === null ? {} : { refusal: means }),
    ...(affects === 'all' ? {} : { affects }),
    ...(part === null ? {} : { part }),
  }
  if (means === null)
    return namingVariables(new Problem(codeOfStatus(status), { detail, extra }), by.provider)
  const code = codeByMeaning[means]
  if (means === 'rate') {
    const retryAfterSeconds = retryAfterMs === null ? usualRetryAfterSeconds : Math.ceil(retryAfterMs / 1000)
    return new Problem(code, { detail, extra, retryAfterSeconds })
  }
  const account = means === 'credit' || means === 'quota' ? accountWords(means, facts, by.provider) : null
  if (account !== null) {
    return new Problem(code, {
      detail: `${account.says}: ${account.repair} (${detail})`,
      extra,
      repair: `${account.repair}.`,
    })
  }
  return namingVariables(new Problem(code, { detail, extra }), by.provider)
}

function codeOfStatus(status: number): ProblemCode {
  const code = codeByStatus[status]
  if (code !== undefined) return code
  return status === 0 || status >= 500 ? 'upstream-failed' : 'provider-refused'
}

/** Returns detail and repair. The detail names the repair too: the record of a failed run has only the detail. */
function accountWords(
  means: 'credit' | 'quota',
  { host }: RefusalFacts,
  provider: string,
): { readonly says: string; readonly repair: string } {
  const account = accountAt(host)
  const title = account?.title ?? provider
  const where = account === null ? `at ${provider}` : `at ${account.billing}`
  return means === 'credit'
    ? {
        says: `${title} says the account is out of credit`,
        repair: `add credit ${where}, or set another model (flotilla init, or default_model in config/settings.json)`,
      }
    : {
        says: `${title} says a quota of the account is used up`,
        repair: `wait until the quota is renewed, raise the quota ${where}, or set another model (flotilla init, or default_model in config/settings.json)`,
      }
}

/** Waits for the reply of a call; a failure names the environment variables of this provider. */
export async function replyOf(reply: Promise<ProviderReply>, provider: string): Promise<ProviderReply> {
  try {
    return await reply
  } catch (error) {
    throw error instanceof Problem ? namingVariables(error, provider) : error
  }
}

/** Adds the names of the provider's environment variables to the repair of a problem. Pure. */
export function namingVariables(problem: Problem, provider: string): Problem {
  if (problem.code === 'provider-refused') {
    const variable = providerVariable(provider, 'API_KEY')
    return withChanges(problem, {
      repair: `Check the key and the model of ${provider}: ${variable} in .env, providers.${provider} in config/settings.json; flotilla models shows the state of the provider.`,
    })
  }
  if (problem.code === 'provider-unreachable') {
    const variable = providerVariable(provider, 'BASE_URL')
    // The variable is also part of the detail, because the record of a failed run keeps only the detail.
    return withChanges(problem, {
      detail: `${problem.detail}; the address of ${provider} comes from ${variable} in .env`,
      repair: `Check that ${provider} runs at this address (${variable} in .env, or providers.${provider}.base_url in config/settings.json), and check the network of the mesh.`,
    })
  }
  if (problem.code === 'model-unknown' && /try pulling/i.test(problem.detail)) {
    return withChanges(problem, {
      repair: `Install the model on the machine of ${provider} (ollama pull MODEL), or set another model (flotilla init, or default_model in config/settings.json).`,
    })
  }
  return problem
}
