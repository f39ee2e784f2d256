import { Problem, withChanges } from '@flotilla/protocol/problem'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import type { Failure } from './failover.ts'
import type { CatalogModel } from '../catalog/model-catalog.ts'
import type { FailureKind } from './model-health.ts'
import type { ProviderReply } from '../llm-provider.ts'
import { spendIn } from '../wire/collect-reply.ts'
import { isEchoed } from '../refusals/echoed-text.ts'
import type { Affected, IsEchoed } from '../refusals/judge-refusal.ts'
import type { RefusalMeaning } from '../refusals/refusal-table.ts'
import type { Opened } from './open-call.ts'
import { namingVariables, readRefusalOf } from './provider-problem.ts'

/** Statuses of a gateway timeout: the provider behind the gateway may have answered and billed. */
const mayBeBilledStatuses: readonly number[] = [504, 524]

/** Failure kinds by the meaning of a refusal; null if another model cannot help or the call must be changed first. */
const kindByMeaning: Readonly<Record<RefusalMeaning, FailureKind | null>> = {
  credit: 'account',
  quota: 'account',
  key: 'credential',
  access: 'credential',
  model: 'unknown-model',
  history: null,
  'too-large': 'too-large',
  'too-long': null,
  rate: 'rate-limited',
  overloaded: 'outage',
  output: 'broken',
}

/**
 * Converts a provider's refusal to a Failure, which decides about retry and fallback. The request shows which words
 * of the refusal are the caller's. Reads the reply's body.
 */
export async function failureFromRefusal(
  reply: ProviderReply,
  model: CatalogModel,
  { request, bounds }: Pick<Opened, 'request' | 'bounds'>,
): Promise<Failure> {
  const isInRequest: IsEchoed = (phrase) => spendIn(bounds, () => isEchoed(request.parameters, phrase))
  const { means, retryAfterMs, problem, affects, echoed } = await readRefusalOf(reply, model, isInRequest)
  const ofStatus = kindOfStatus(reply)
  // The account may be refused although the request contains the same words, so another model may answer this call.
  const isUnclear = means === null && ofStatus === null && echoed !== null
  const kind = means === null ? ofStatus : kindByMeaning[means]
  return {
    problem: withName(problem, model.id),
    kind: isUnclear ? 'account' : kind,
    retryAfterMs,
    mayBeBilled: mayBeBilledStatuses.includes(reply.status),
    ...(reply.shouldRetry === false ? { isFinal: true } : {}),
    affects: isUnclear ? 'call' : kind !== null && isOfContent(kind, reply.status) ? 'agent' : affects,
  }
}

/** Adds the model's name, since a refusal about window or history may come from a fallback. */
function withName(problem: Problem, model: string): Problem {
  const isOfModel = problem.code === 'prompt-too-long' || problem.code === 'history-refused'
  return isOfModel ? withChanges(problem, { extra: { refused_by: model } }) : problem
}

/**
 * Converts an error thrown by a provider or by the answer reader; null for an error that is no model failure.
 * Pure.
 */
export function failureFromError(
  error: unknown,
  model: Pick<CatalogModel, 'provider' | 'id'>,
): Failure | null {
  if (!(error instanceof Problem)) return null
  const { refusal: means, affects } = error.extra
  const kind = isMeaning(means) ? kindByMeaning[means] : (kindsByCode[error.code] ?? null)
  // The provider can bill nothing if no connection was made, or if the provider adapter rejected the call.
  const mayBeBilled = kind !== null && kind !== 'outage'
  return {
    problem: withName(namingVariables(error, model.provider), model.id),
    kind,
    retryAfterMs: (error.retryAfterSeconds ?? 0) * 1000,
    mayBeBilled,
    affects: isAffected(affects) ? affects : kind !== null && isOfContent(kind, 0) ? 'agent' : 'all',
  }
}

function isMeaning(value: unknown): value is RefusalMeaning {
  return typeof value === 'string' && Object.hasOwn(kindByMeaning, value)
}

function isAffected(value: unknown): value is Affected {
  return value === 'agent' || value === 'call'
}

/**
 * Kinds of failures that the content of a call can cause: a long answer times out, an unusual one breaks off or is
 * empty.
 */
const contentKinds: readonly FailureKind[] = ['timeout', 'broken', 'empty']
/** Statuses of a server that failed at this request; the other statuses from 500 on mean that the server is down. */
const contentStatuses: readonly number[] = [408, 500, 501, 504, 524]

function isOfContent(kind: FailureKind, status: number): boolean {
  return contentKinds.includes(kind) || (kind === 'outage' && contentStatuses.includes(status))
}

function kindOfStatus({ status, shouldRetry }: ProviderReply): FailureKind | null {
  return status === 408 || status >= 500 || shouldRetry === true ? 'outage' : null
}

const kindsByCode: Partial<Record<ProblemCode, FailureKind>> = {
  'provider-unreachable': 'outage',
  'upstream-timeout': 'timeout',
  'upstream-failed': 'broken',
  'provider-unreadable': 'broken',
  'model-failed': 'empty',
}
