import type { Caller, RefuseAboveCeiling } from '../../access/index.ts'
import { isAtTerminal } from '../../access/index.ts'
import type { ModelCatalog } from './model-catalog.ts'
import { searchesByItself } from './resolve-model.ts'

/**
 * May this caller set an agent to this model? Throws the Problem `unprocessable` for one whose provider is not set up,
 * and `human-only` for one that may search the web by itself, where nobody at the terminal asks: it would be a way out.
 */
export function createRequireModel(deps: {
  readonly catalog: Pick<ModelCatalog, 'requireUsable'>
  readonly refuseAbove: RefuseAboveCeiling
}) {
  return (caller: Caller, { agentId, model }: { readonly agentId: string; readonly model: string }): void => {
    if (searchesByItself(model) && !isAtTerminal(caller)) {
      const reason = 'only a person at the terminal sets a model that may search the web by itself'
      deps.refuseAbove(caller, { subject: agentId, field: 'model', reason })
    }
    deps.catalog.requireUsable(model)
  }
}
