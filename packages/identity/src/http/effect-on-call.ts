import type { FastifyRequest } from 'fastify'
import { headers } from '@flotilla/protocol/headers'
import { Problem } from '@flotilla/protocol/problem'
import type { EffectOnce, EffectStep, OutsideLine } from '@flotilla/foundation/effects'
import type { AgentCaller } from './gates/agent-gate.ts'

/** The ways to carry out the work of a call with an idempotency key exactly once; see `createEffectOnce`. */
export interface EffectOnCall {
  readonly key: string
  local<T>(work: () => T): T
  resumable<T>(work: (step: EffectStep<T>) => Promise<T>): Promise<T>
  outside<T>(work: (line: OutsideLine) => Promise<T>): Promise<T>
  repeatable<T>(work: (line: OutsideLine) => Promise<T>): Promise<T>
}

/** The maximum length of an idempotency key that an agent sends, in characters. */
const keyMaxChars = 200

/** Problems `bad-request` without an idempotency key, `stale-fence` without a run. */
export function effectOnCall(
  effects: EffectOnce,
  {
    caller,
    raw,
    request,
  }: { readonly caller: AgentCaller; readonly raw: FastifyRequest; readonly request: unknown },
): EffectOnCall {
  const key = raw.headers[headers.idempotencyKey]
  if (typeof key !== 'string' || key.length === 0 || key.length > keyMaxChars) {
    throw new Problem('bad-request', {
      detail: `every call that has an effect must send the header ${headers.idempotencyKey}`,
    })
  }
  if (!caller.run) throw new Problem('stale-fence')
  // The endpoint is part of the compared request, because two endpoints may take equal bodies and answer differently.
  const endpoint = `${raw.method} ${raw.url.split('?')[0]}`
  const call = { agentId: caller.agentId, runId: caller.run.runId, key, request: { endpoint, request } }
  return {
    key,
    local: (work) => effects.local(call, work),
    resumable: (work) => effects.resumable(call, work),
    outside: (work) => effects.outside(call, work),
    repeatable: (work) => effects.repeatable(call, work),
  }
}
