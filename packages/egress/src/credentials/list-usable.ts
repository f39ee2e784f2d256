import type { Action, Caller, Decision, Guard } from '@flotilla/identity/access'
import type { BindingStore } from './binding-file.ts'
import { handleFor } from './handles.ts'
import type { Vault } from './vault.ts'

/** Lists the credentials that an agent may use: name, handle and hosts. Throws Problem `denied`. */
export type ListUsable = (
  caller: Caller,
) => readonly { readonly name: string; readonly handle: string; readonly hosts: readonly string[] }[]

export function createListUsable(deps: {
  readonly vault: Vault
  readonly bindings: Pick<BindingStore, 'bindingOf'>
  readonly guard: Guard
  readonly decide: (caller: Caller, action: Action) => Decision
}): ListUsable {
  return (caller) => {
    deps.guard(caller, { do: 'act-for-self', agentId: caller.kind === 'agent' ? caller.agentId : '' })
    return deps.vault
      .names()
      .agent.filter((name) => deps.decide(caller, { do: 'use-credential', name }).allowed)
      .map((name) => ({ name, handle: handleFor(name), hosts: deps.bindings.bindingOf(name)?.hosts ?? [] }))
  }
}
