import type { Settings } from '../../config/index.ts'
import type { ModelCatalog } from './model-catalog.ts'
import { windowOfModel } from './model-window.ts'
import { fullName, resolveModel } from './resolve-model.ts'

/** What an agent is told of the model that it thinks with. */
export interface OwnModel {
  /** The one that it is set to, or the fleet's default; null where there is none. */
  modelOf(agentId: string): string | null
  /** Tokens that fit into it; null where nobody knows. */
  windowOf(agentId: string): number | null
  /** The owner's word alone, null where there is none: no public list says it well. */
  seesImages(agentId: string): boolean | null
}

export function createOwnModel(deps: {
  readonly catalog: Pick<ModelCatalog, 'defaultModel' | 'defaultProvider'>
  readonly settings: () => Settings
  /** The model an agent is set to; null for the fleet's default. */
  readonly agentModel: (agentId: string) => string | null
}): OwnModel {
  const modelOf = (agentId: string) => deps.agentModel(agentId) ?? deps.catalog.defaultModel()
  const nameOf = (agentId: string) => {
    const wanted = modelOf(agentId)
    return wanted === null ? null : resolveModel(wanted, deps.catalog.defaultProvider())
  }
  return {
    modelOf,
    windowOf(agentId) {
      const name = nameOf(agentId)
      return name === null ? null : windowOfModel(deps.settings(), name)
    },
    seesImages(agentId) {
      const name = nameOf(agentId)
      if (name === null) return null
      const { models } = deps.settings()
      const id = fullName(name)
      return (Object.hasOwn(models, id) ? models[id]?.images : undefined) ?? null
    },
  }
}
