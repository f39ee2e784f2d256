import { Problem } from '@flotilla/protocol/problem'
import { modelSettingsOf } from '@flotilla/foundation/config'
import type { Settings } from '@flotilla/foundation/config'
import type { CatalogModel, ModelCatalog } from '../catalog/model-catalog.ts'
import type { Price, PricedModel } from '../catalog/model-prices.ts'
import {
  fullName,
  modelIsListed,
  namesMany,
  resolveModel,
  searchesByItself,
} from '../catalog/resolve-model.ts'
import type { ModelName } from '../catalog/resolve-model.ts'

export interface AllowedModelsDeps {
  readonly catalog: ModelCatalog
  readonly settings: () => Settings
  /** The model an agent is set to; null for the fleet's default. */
  readonly agentModel: (agentId: string) => string | null
}

/**
 * Returns the models that an agent may use: its own model, the embedding model of memories, and what the owner's
 * settings add. Only the owner's entries may match many models, or a model that searches the web by itself: the
 * operator can set an agent's own model too, and must not open a whole provider or egress that way.
 */
export function allowListOf(deps: AllowedModelsDeps, agentId: string): readonly string[] {
  const ownersDefault = deps.catalog.defaultModel()
  const own = deps.agentModel(agentId) ?? ownersDefault
  const { agents, embedding_model: ofMemories } = deps.settings()
  const added = Object.hasOwn(agents, agentId) ? (agents[agentId]?.models ?? []) : []
  const isOpen = own === null || namesMany(own) || (own !== ownersDefault && searchesByItself(own))
  return [isOpen ? null : own, ofMemories, ...added].filter((name) => typeof name === 'string')
}

/** Resolves the requested model. Throws the Problem `model-not-allowed`. */
export function allowedModel(deps: AllowedModelsDeps, agentId: string, requested: string): ModelName {
  const provider = deps.catalog.defaultProvider()
  const name = resolveModel(requested, provider)
  if (name && modelIsListed(allowListOf(deps, agentId), name, provider)) return name
  throw new Problem('model-not-allowed', {
    detail: `agent ${agentId} may not use ${requested.slice(0, 200)}${repairFor(deps, agentId, requested)}`,
    extra: { model: requested.slice(0, 200) },
  })
}

function repairFor(deps: AllowedModelsDeps, agentId: string, requested: string): string {
  if (requested !== deps.agentModel(agentId) || !searchesByItself(requested)) return ''
  return `: models with such a name can search the web at the provider. The owner allows it with exactly this name in agents.${agentId}.models of config/settings.json`
}

type PricedCatalog = Pick<FallbackDeps, 'catalog' | 'priceOf'>
export interface FallbackDeps extends AllowedModelsDeps {
  readonly priceOf: (model: PricedModel) => Price
}

/**
 * Returns the requested model, which must be configured, then its configured and priced fallbacks. The owner's settings
 * name them, so they need no entry in the list of the agent, which cannot request them by that; only models that search
 * the web by themselves do.
 */
export function fallbackChain(deps: FallbackDeps, agentId: string, requested: ModelName): CatalogModel[] {
  const chain = [deps.catalog.find(requested)]
  const names = modelSettingsOf(deps.settings(), fullName(requested))?.fallback ?? []
  if (names.length === 0) return chain
  const provider = deps.catalog.defaultProvider()
  const allowed = allowListOf(deps, agentId)
  for (const name of names) {
    const standIn = resolveModel(name, provider)
    if (!standIn || (searchesByItself(name) && !modelIsListed(allowed, standIn, provider))) continue
    const model = usableModel(deps, standIn)
    if (model && !chain.includes(model)) chain.push(model)
  }
  return chain
}

/** Returns a model; null if it cannot be called now, for which the list of models or a notice has the reason. */
export function usableModel(deps: PricedCatalog, name: ModelName): CatalogModel | null {
  try {
    const model = deps.catalog.find(name)
    deps.priceOf(model)
    return model
  } catch (error) {
    if (error instanceof Problem) return null
    throw error
  }
}

/** Returns full names of the models that an agent may use and that are known by name. */
export async function namesAllowed(deps: AllowedModelsDeps, agentId: string): Promise<readonly string[]> {
  const provider = deps.catalog.defaultProvider()
  const list = allowListOf(deps, agentId)
  const names = [...list, ...(await deps.catalog.names())].flatMap(
    (entry) => resolveModel(entry, provider) ?? [],
  )
  const allowed = names.filter((name) => name.model !== '*' && modelIsListed(list, name, provider))
  return [...new Set(allowed.map(fullName))]
}
