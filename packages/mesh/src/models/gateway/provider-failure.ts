import { Problem } from '@flotilla/protocol/problem'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import type { Failure } from './failover.ts'
import type { CatalogModel } from '../catalog/model-catalog.ts'
import type { FailureKind } from './model-health.ts'
import type { ProviderReply } from '../providers/llm-provider.ts'
import { namingVariables, problemFromRefusal } from './provider-problem.ts'

/** A gateway gave up waiting: what stands behind it may have answered it in vain. */
const mayBeBilledStatuses: readonly number[] = [504, 524]

/** A refusal as it bears on what to do next. Reads the reply's body. */
export async function failureFromRefusal(reply: ProviderReply, model: CatalogModel): Promise<Failure> {
  const problem = await problemFromRefusal(reply, model.provider, model.secrets)
  const isTooLong = problem.code === 'prompt-too-long'
  return {
    problem: isTooLong ? withName(problem, model.id) : problem,
    kind: isTooLong ? null : kindOfStatus(reply.status),
    retryAfterMs: (reply.retryAfterSeconds ?? 0) * 1000,
    mayBeBilled: mayBeBilledStatuses.includes(reply.status),
  }
}

/** What is said of a window is said of one model, which may be a stand-in of the one that was asked for. */
function withName(problem: Problem, model: string): Problem {
  const { code, detail, extra } = problem
  return new Problem(code, { detail, extra: { ...extra, refused_by: model } })
}

/** What a provider, or the reading of its answer, has thrown; null for what is no failure of a model. Pure. */
export function failureFromError(error: unknown, provider: string): Failure | null {
  if (!(error instanceof Problem)) return null
  const kind = kindsByCode[error.code] ?? null
  // No connection: nothing has left. Refused by the provider's own code: nothing has left either.
  const mayBeBilled = kind !== null && kind !== 'outage'
  return { problem: namingVariables(error, provider), kind, retryAfterMs: 0, mayBeBilled }
}

function kindOfStatus(status: number): FailureKind | null {
  if (status === 429) return 'rate-limited'
  if (status === 401 || status === 403) return 'credential'
  return status === 408 || status >= 500 ? 'outage' : null
}

const kindsByCode: Partial<Record<ProblemCode, FailureKind>> = {
  'provider-unreachable': 'outage',
  'upstream-timeout': 'timeout',
  'upstream-failed': 'broken',
  'model-failed': 'empty',
}
