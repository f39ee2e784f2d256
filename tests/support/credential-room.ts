import { allowedEffects } from '../../packages/testing/src/allowed-effects.ts'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import { authorize } from '../../packages/identity/src/access/authorize.ts'
import { createCallRate } from '../../packages/identity/src/access/call-rate.ts'
import type { Action, Decision, Guard } from '../../packages/identity/src/access/action.ts'
import type { Caller } from '../../packages/identity/src/access/caller.ts'
import type { Vault } from '../../packages/egress/src/credentials/vault.ts'
import { createSecret } from '../../packages/egress/src/credentials/secret.ts'
import { placeholderFor } from '../../packages/egress/src/credentials/placeholder.ts'
import type { Secret } from '../../packages/egress/src/credentials/secret.ts'
import { createUseCredentials } from '../../packages/egress/src/credentials/use-credentials.ts'
import { collectJournal } from './collected-ports.ts'
import { createManualClock } from '../../packages/protocol/src/testing/manual-clock.ts'

export interface CredentialRoom {
  /** Credentials of the agent tier, by name. */
  readonly values?: Readonly<Record<string, string>>
  readonly system?: Readonly<Record<string, string>>
  /** Hosts by name. */
  readonly hosts?: Readonly<Record<string, readonly string[]>>
  /** `allowed_credentials` by agent; an agent that is not listed may use every credential. */
  readonly allowed?: Readonly<Record<string, readonly string[]>>
  readonly broken?: string
  readonly perMinute?: number
}

/** The real use of credentials, over values from the test and decisions by permission records. */
export function aCredentialRoom(room: CredentialRoom = {}) {
  const journal = collectJournal()
  const decide = (caller: Caller, action: Action): Decision =>
    authorize(
      {
        broken: null,
        recordOf: (agentId) =>
          permissionRecordSchema.parse({ allowed_credentials: [...(room.allowed?.[agentId] ?? ['*'])] }),
      },
      caller,
      action,
    )
  const guard: Guard = (caller, action) => {
    const decision = decide(caller, action)
    if (!decision.allowed) throw new Problem('denied', { detail: decision.reason })
  }
  const { values = {}, system = {} } = room
  const vault: Vault = {
    system: (name) => (system[name] === undefined ? undefined : createSecret(name, system[name])),
    agentTier: (name) => (values[name] === undefined ? undefined : createSecret(name, values[name])),
    names: () => ({ system: Object.keys(system), agent: Object.keys(values) }),
    sourceOf: () => 'file',
    storeAgent: async (name, value) => createSecret(name, value),
    removeAgent: async () => false,
    storeSystem: async () => {},
    removeSystem: async () => {},
    changeSystem: async () => {},
    systemSourceOf: () => null,
  }
  const bindings = {
    bindingOf: (name: string) =>
      room.hosts?.[name] ? { hosts: [...room.hosts[name]], note: '', programs: [] } : null,
    broken: () => room.broken ?? null,
  }
  const placeholderOf = (agentId: string, { name, reveal }: Secret) =>
    placeholderFor('the secret of a mesh', { agentId, name, value: reveal() })
  const rate = createCallRate({ clock: createManualClock(), perMinute: () => room.perMinute ?? 600 })
  return {
    journal,
    open: createUseCredentials({
      vault,
      bindings,
      guard,
      decide,
      checkEffect: allowedEffects,
      rate,
      journal,
      placeholderOf,
    }),
  }
}
