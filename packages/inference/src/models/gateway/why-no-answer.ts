import { Problem, withChanges } from '@flotilla/protocol/problem'
import type { CatalogModel } from '../catalog/model-catalog.ts'
import type { Failure } from './failover.ts'
import type { ModelWatch } from './watch-models.ts'

/** Returns the problem of the first model whose key or account was refused and whose cooldown still lasts. */
export function rememberedRefusal(
  watch: ModelWatch,
  { chain, agentId }: { readonly chain: readonly CatalogModel[]; readonly agentId: string },
): Problem | null {
  for (const model of chain) {
    const refusal = watch.refusalOf(model)
    if (refusal === null) continue
    const seconds = Math.ceil(watch.coolDownLeftMs(model, agentId) / 1000)
    return withChanges(refusal, {
      detail: `${refusal.detail}; the mesh does not call this model again for ${seconds} s, or until its key or the settings change`,
    })
  }
  return null
}

/**
 * Returns the Problem of a call that no model answered: that of the last attempt, or a remembered refusal if no model
 * was called. It contains the number of attempts, so that the client does not multiply them. Pure.
 */
export function whyNoAnswer(
  walk: { readonly failure: Failure | null; readonly refusal: Problem | null; readonly attempts: number },
  remembered: Problem | null,
): Problem {
  const { failure, refusal, attempts } = walk
  const problem = failure?.problem ?? remembered
  if (problem !== null) return withChanges(problem, { extra: { attempts } })
  return refusal ?? new Problem('not-configured', { detail: 'no model is set up that can answer the call' })
}
