import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Log } from '../log.ts'
import type { CatalogModel } from './model-catalog.ts'
import type { ProviderReply, ProviderRequest } from './llm-provider.ts'
import { problemFromRefusal } from './provider-problem.ts'

/** Waits before the second and the third attempt; there is no fourth. */
const backOffMs = [500, 2000] as const
/** Longer than this the client may as well come back itself. */
const retryAfterMaxMs = 10_000

/**
 * A reply with status 200, after at most three attempts at the same model. Only what surely was not answered is
 * asked again: no connection, 429 and 5xx, before the first byte of an answer. Throws what the last attempt met.
 */
export async function dispatch(
  deps: { readonly clock: Clock; readonly log: Log },
  model: CatalogModel,
  call: { readonly request: ProviderRequest; readonly signal: AbortSignal },
): Promise<ProviderReply> {
  for (let attempt = 0; ; attempt++) {
    const failed = await attemptOnce(model, call)
    if (!('problem' in failed)) return failed
    const { problem, waitMs } = failed
    const pauseMs = backOffMs[attempt]
    if (waitMs === null || pauseMs === undefined || waitMs > retryAfterMaxMs) throw problem
    deps.log.warn({ model: model.id, code: problem.code, attempt: attempt + 1 }, 'model call is tried again')
    await deps.clock.sleep(Math.max(pauseMs, waitMs), call.signal)
  }
}

interface Failure {
  readonly problem: Problem
  /** At least so long must pass before it is worth trying again; null when it never is. */
  readonly waitMs: number | null
}

async function attemptOnce(
  model: CatalogModel,
  call: { readonly request: ProviderRequest; readonly signal: AbortSignal },
): Promise<ProviderReply | Failure> {
  let reply: ProviderReply
  try {
    reply = await model.llm.complete(call.request, { signal: call.signal })
  } catch (error) {
    if (error instanceof Problem && error.code === 'provider-unreachable')
      return { problem: error, waitMs: 0 }
    throw error
  }
  if (reply.status === 200) return reply
  const problem = await problemFromRefusal(reply, model.provider, model.secrets)
  const mayRetry = reply.status === 429 || reply.status >= 500
  return { problem, waitMs: mayRetry ? (reply.retryAfterSeconds ?? 0) * 1000 : null }
}
