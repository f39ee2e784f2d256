import type { Clock } from '@flotilla/protocol/clock'
import type { Guard } from '../policy/action.ts'
import type { Caller } from '../policy/caller.ts'
import { namesAllowed } from './allowed-models.ts'
import type { AllowedModelsDeps } from './allowed-models.ts'

/** `GET /v1/models` in OpenAI's form. */
export interface ModelList {
  readonly object: 'list'
  readonly data: readonly {
    readonly id: string
    readonly object: 'model'
    readonly created: number
    readonly owned_by: string
  }[]
}

export interface ListModelsDeps extends AllowedModelsDeps {
  readonly guard: Guard
  readonly clock: Clock
}

/** The models that the calling agent may use. Throws the Problem `denied`. */
export function createListModels(deps: ListModelsDeps): (caller: Caller) => Promise<ModelList> {
  const created = Math.floor(deps.clock.now() / 1000)
  return async (caller) => {
    deps.guard(caller, { do: 'call-api', api: 'llm' })
    const names = caller.kind === 'agent' ? await namesAllowed(deps, caller.agentId) : []
    return {
      object: 'list',
      data: names.map((id) => ({ id, object: 'model', created, owned_by: id.slice(0, id.indexOf('/')) })),
    }
  }
}
