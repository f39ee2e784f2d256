import { Problem } from '@flotilla/protocol/problem'
import { allowListOf } from './allowed-models.ts'
import type { AllowedModelsDeps } from './allowed-models.ts'
import type { CatalogModel } from '../catalog/model-catalog.ts'
import type { Price, PricedModel } from '../catalog/price-list.ts'
import { fullName, modelIsListed, resolveModel } from '../catalog/resolve-model.ts'
import type { ModelName } from '../catalog/resolve-model.ts'

export interface FallbackDeps extends AllowedModelsDeps {
  readonly priceOf: (model: PricedModel) => Price
}

/**
 * The model that was asked for and those the owner lets stand in for it, in order. A stand-in must be on the agent's
 * own list, set up, and have a price; one that is not stays out. Throws what the model itself lacks.
 */
export function fallbackChain(deps: FallbackDeps, agentId: string, wanted: ModelName): CatalogModel[] {
  const chain = [deps.catalog.find(wanted)]
  const names = deps.settings().models[fullName(wanted)]?.fallback ?? []
  if (names.length === 0) return chain
  const provider = deps.catalog.defaultProvider()
  const allowed = allowListOf(deps, agentId)
  for (const name of names) {
    const standIn = resolveModel(name, provider)
    if (!standIn || !modelIsListed(allowed, standIn, provider)) continue
    const model = usable(deps, standIn)
    if (model && !chain.includes(model)) chain.push(model)
  }
  return chain
}

/** Null for what cannot be called now; the owner sees why in the list of models. */
function usable(deps: FallbackDeps, name: ModelName): CatalogModel | null {
  try {
    const model = deps.catalog.find(name)
    deps.priceOf(model)
    return model
  } catch (error) {
    if (error instanceof Problem) return null
    throw error
  }
}
