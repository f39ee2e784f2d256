import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import { allowListOf, namesAllowed } from './allowed-models.ts'
import type { AllowedModelsDeps } from './allowed-models.ts'
import { windowOfModel } from '../catalog/model-window.ts'
import { fullName, modelIsListed, resolveModel } from '../catalog/resolve-model.ts'

/** The client family; each has its own format of the list. */
export type ModelListForm = 'openai' | 'anthropic'

export interface ListModelsDeps extends AllowedModelsDeps {
  readonly guard: Guard
  readonly clock: Clock
}

export interface ListModels {
  /** Returns the models that the calling agent may use. Throws the Problem `denied`. */
  list(caller: Caller, form: ModelListForm): Promise<object>
  /** One model that the calling agent may use, by full or bare name. Throws the Problem `denied` or `not-found`. */
  one(caller: Caller, id: string, form: ModelListForm): Promise<object>
}

export function createListModels(deps: ListModelsDeps): ListModels {
  const startedAt = deps.clock.now()

  async function names(caller: Caller): Promise<readonly string[]> {
    deps.guard(caller, { do: 'call-api', api: 'llm' })
    return caller.kind === 'agent' ? await namesAllowed(deps, caller.agentId) : []
  }

  function entry(id: string, form: ModelListForm): object {
    return form === 'anthropic'
      ? { type: 'model', id, display_name: id, created_at: new Date(startedAt).toISOString() }
      : {
          id,
          object: 'model',
          created: Math.floor(startedAt / 1000),
          owned_by: id.slice(0, id.indexOf('/')),
          ...contextLength(deps, id),
        }
  }

  return {
    async list(caller, form) {
      const ids = await names(caller)
      const data = ids.map((id) => entry(id, form))
      if (form === 'openai') return { object: 'list', data }
      return { data, has_more: false, first_id: ids[0] ?? null, last_id: ids.at(-1) ?? null }
    },
    async one(caller, id, form) {
      deps.guard(caller, { do: 'call-api', api: 'llm' })
      const provider = deps.catalog.defaultProvider()
      const name = resolveModel(id, provider)
      const list = caller.kind === 'agent' ? allowListOf(deps, caller.agentId) : []
      if (name === null || !modelIsListed(list, name, provider)) {
        throw new Problem('not-found', {
          detail: `no model ${id.slice(0, 200)} exists that you may use; GET /v1/models lists your models`,
        })
      }
      return entry(fullName(name), form)
    },
  }
}

/** Returns the context window in tokens, under the name that gateways use; absent if unknown. */
function contextLength(deps: AllowedModelsDeps, id: string): { readonly context_length?: number } {
  const name = resolveModel(id, deps.catalog.defaultProvider())
  const tokens = name ? windowOfModel(deps.settings(), name) : null
  return tokens === null ? {} : { context_length: tokens }
}
