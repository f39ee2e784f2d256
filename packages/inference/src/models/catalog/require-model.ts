import type { Caller, RefuseAboveCeiling } from '@flotilla/identity/access'
import { isAtTerminal } from '@flotilla/identity/access'
import type { ModelCatalog } from './model-catalog.ts'
import { searchesByItself } from './resolve-model.ts'

/**
 * Decides whether this caller may set an agent to this model. Throws the Problem `unprocessable` if its provider is
 * not configured. Throws `human-only` for a model that may search the web by itself, unless a person at the terminal
 * asks, because that is egress.
 */
export function createRequireModel(deps: {
  readonly catalog: Pick<ModelCatalog, 'requireUsable'>
  readonly refuseAbove: RefuseAboveCeiling
}) {
  return (caller: Caller, { agentId, model }: { readonly agentId: string; readonly model: string }): void => {
    if (searchesByItself(model) && !isAtTerminal(caller)) {
      const reason = 'only a person at the terminal may choose a model that searches the web at its provider'
      deps.refuseAbove(caller, { subject: agentId, field: 'model', reason })
    }
    deps.catalog.requireUsable(model)
  }
}
