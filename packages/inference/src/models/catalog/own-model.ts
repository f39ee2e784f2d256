import type { Settings } from '@flotilla/foundation/config'
import type { ModelCatalog } from './model-catalog.ts'
import { windowOfModel } from './model-window.ts'
import { fullName, resolveModel } from './resolve-model.ts'

/** Facts about an agent's own model that the mesh gives the agent. */
export interface OwnModel {
  /** Returns the configured model of the agent, or the default of the fleet; null if neither exists. */
  modelOf(agentId: string): string | null
  /** Returns the context window in tokens; null if it is unknown. */
  windowOf(agentId: string): number | null
  /** Returns the owner's setting `images` of the model, or null: public model lists are unreliable about images. */
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
    const setting = modelOf(agentId)
    return setting === null ? null : resolveModel(setting, deps.catalog.defaultProvider())
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
