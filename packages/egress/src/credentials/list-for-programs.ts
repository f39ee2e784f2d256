import type { Action, Caller, Decision } from '@flotilla/identity/access'
import type { BindingStore } from './binding-file.ts'
import { originOf, parseHostPattern } from './host-pattern.ts'
import { parseProgramUse } from './program-use.ts'
import type { ProgramUse } from './program-use.ts'
import type { Secret } from './secret.ts'
import type { Vault } from './vault.ts'

/** A credential that has a placeholder in the container of an agent. */
export interface ProgramCredential {
  readonly placeholder: string
  readonly uses: readonly ProgramUse[]
  /** The origins to which the credential may be sent; hosts with a star have none. */
  readonly origins: readonly string[]
}

export type ListForPrograms = (agentId: string) => readonly ProgramCredential[]

/** Lists the credentials that the agent may use and that the owner gave to programs. */
export function createListForPrograms(deps: {
  readonly vault: Pick<Vault, 'names' | 'agentTier'>
  readonly bindings: Pick<BindingStore, 'bindingOf' | 'broken'>
  readonly decide: (caller: Caller, action: Action) => Decision
  readonly placeholderOf: (agentId: string, secret: Secret) => string
}): ListForPrograms {
  return (agentId) => {
    if (deps.bindings.broken() !== null) return []
    const caller: Caller = { kind: 'agent', agentId, token: 'program', run: null }
    return deps.vault.names().agent.flatMap((name) => {
      const binding = deps.bindings.bindingOf(name)
      const uses = (binding?.programs ?? []).flatMap((text) => parseProgramUse(text) ?? [])
      const secret = deps.vault.agentTier(name)
      if (!binding || !secret || uses.length === 0) return []
      if (!deps.decide(caller, { do: 'use-credential', name }).allowed) return []
      const origins = binding.hosts.flatMap((host) => {
        const pattern = parseHostPattern(host)
        return (pattern && originOf(pattern)) ?? []
      })
      return [{ placeholder: deps.placeholderOf(agentId, secret), uses, origins }]
    })
  }
}
