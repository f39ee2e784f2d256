import { hintOfName } from '@flotilla/protocol/nearest-name'
import { isIP } from 'node:net'
import type { CredentialView } from '@flotilla/protocol/vault-api'
import { Problem } from '@flotilla/protocol/problem'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import { bindingSchema } from './binding-file.ts'
import type { BindingStore } from './binding-file.ts'
import { isCredentialName } from './credential-tiers.ts'
import { readCredentialValue, valueFault } from './credential-value.ts'
import { canonicalName } from './handles.ts'
import { coverageOf, originOf, parseHostPattern } from './host-pattern.ts'
import type { Secret } from './secret.ts'
import type { Vault } from './vault.ts'

/** The owner's operations on credentials. Every call but `list` is recorded in the audit log, never with a value. */
export interface ManageCredentials {
  list(caller: Caller): { readonly credentials: CredentialView[]; readonly broken: string | null }
  /** Stores a value, and binds it if hosts are given. Problems `bad-request`, `unprocessable`, `conflict`. */
  set(
    caller: Caller,
    input: {
      readonly name: string
      readonly value: string
      readonly hosts?: readonly string[] | undefined
      readonly programs?: readonly string[] | undefined
    },
  ): Promise<CredentialView>
  /** Removes a credential. Problem `not-found` if no credential has that name. */
  remove(caller: Caller, name: string): Promise<{ readonly removed: string }>
  bind(
    caller: Caller,
    input: {
      readonly name: string
      readonly hosts: readonly string[]
      readonly note?: string | undefined
      readonly programs?: readonly string[] | undefined
    },
  ): Promise<CredentialView>
  unbind(caller: Caller, name: string): Promise<CredentialView>
}

export interface ManageCredentialsDeps {
  readonly vault: Vault
  readonly bindings: BindingStore
  readonly guard: Guard
  readonly journal: Journal
  /** Returns a keyed digest of a few characters, which distinguishes values; values cannot be guessed offline. */
  readonly fingerprint: (value: string) => string
  /** Returns why the mesh would refuse an agent's request to this address, and how the owner can allow it. */
  readonly doubts: (url: URL) => readonly string[]
  /** Called when a credential was stored, so that agents that requested the credential can continue. */
  readonly onStored: (name: string) => void
}

const unbound = { hosts: [], note: '', programs: [] } as const

export function createManageCredentials(deps: ManageCredentialsDeps): ManageCredentials {
  const { vault, bindings, guard } = deps

  function record(caller: Caller, action: string, subject: { name: string; hosts?: string }): void {
    const { name, ...detail } = subject
    deps.journal.append({ actor: actorOf(caller), action, subject: name, detail })
  }

  function required(name: string): Secret {
    const secret = vault.agentTier(name)
    if (secret) return secret
    const known = vault.names().agent
    throw new Problem('not-found', {
      detail: `there is no credential ${name}; ${hintOfName(name, known, 'the credentials are')}`,
      repair: 'List the names: flotilla credentials list.',
    })
  }

  function agentView(secret: Secret): CredentialView {
    const { hosts, note, programs } = bindings.bindingOf(secret.name) ?? unbound
    return {
      name: secret.name,
      tier: 'agent',
      source: vault.sourceOf(secret.name) ?? 'file',
      fingerprint: deps.fingerprint(secret.reveal()),
      hosts: [...hosts],
      note,
      programs: [...programs],
      unused_because:
        bindings.broken() ??
        valueFault(secret.reveal()) ??
        (hosts.length === 0 ? 'the credential is bound to no host' : null),
      notices: hosts.flatMap((host) => noticesOf(host)),
    }
  }

  /** Returns warnings for an owner who binds a credential: what the mesh could refuse when an agent uses it. */
  function noticesOf(text: string): readonly string[] {
    const pattern = parseHostPattern(text)
    const origin = pattern && originOf(pattern)
    if (pattern === null || origin === null) return []
    const isSchemeGuessed =
      !/^https?:/i.test(text) && (pattern.port !== 443 || isIP(pattern.host.replace(/[[\]]/g, '')) !== 0)
    const isHttps = `${text} covers only ${coverageOf(pattern)}; for a service without TLS bind http://${text}`
    return [...(isSchemeGuessed ? [isHttps] : []), ...deps.doubts(new URL(origin))]
  }

  async function bind(
    caller: Caller,
    name: string,
    binding: { hosts: readonly string[]; note: string; programs: readonly string[] },
  ) {
    const parsed = bindingSchema.safeParse(binding)
    if (!parsed.success)
      throw new Problem('bad-request', {
        detail: parsed.error.issues.map((issue) => issue.message).join('; '),
      })
    await bindings.edit(name, parsed.data)
    record(caller, 'credential.bound', { name, hosts: parsed.data.hosts.join(', ').slice(0, 1000) })
  }

  return {
    list(caller) {
      guard(caller, { do: 'manage-credentials' })
      const names = vault.names()
      const system = names.system.flatMap((name) => vault.system(name) ?? [])
      return {
        broken: bindings.broken(),
        credentials: [
          ...names.agent.map((name) => agentView(required(name))),
          ...system.map((secret) => systemView(secret, deps.fingerprint)),
        ],
      }
    },
    async set(caller, input) {
      guard(caller, { do: 'manage-credentials' })
      const name = readName(input.name)
      const value = readCredentialValue(input.value)
      // The binding is written first: a new value must not be sent under an old binding.
      const { hosts, programs } = input
      if (hosts !== undefined || programs !== undefined) {
        const before = bindings.bindingOf(name) ?? unbound
        await bind(caller, name, {
          hosts: hosts ?? before.hosts,
          note: before.note,
          programs: programs ?? before.programs,
        })
      }
      const secret = await vault.storeAgent(name, value)
      record(caller, 'credential.stored', { name })
      deps.onStored(name)
      return agentView(secret)
    },
    async remove(caller, text) {
      guard(caller, { do: 'manage-credentials' })
      const { name } = required(readName(text))
      await vault.removeAgent(name)
      // The value is removed even if the binding's file is invalid.
      record(caller, 'credential.removed', { name })
      await bindings.edit(name, null)
      return { removed: name }
    },
    async bind(caller, input) {
      guard(caller, { do: 'manage-credentials' })
      const secret = required(readName(input.name))
      const before = bindings.bindingOf(secret.name) ?? unbound
      const { note = before.note, programs = before.programs } = input
      await bind(caller, secret.name, { hosts: input.hosts, note, programs })
      return agentView(secret)
    },
    async unbind(caller, text) {
      guard(caller, { do: 'manage-credentials' })
      const secret = required(readName(text))
      await bindings.edit(secret.name, null)
      record(caller, 'credential.unbound', { name: secret.name })
      return agentView(secret)
    },
  }
}

function systemView(secret: Secret, fingerprint: (value: string) => string): CredentialView {
  return {
    name: secret.name,
    tier: 'system',
    source: 'mesh',
    fingerprint: fingerprint(secret.reveal()),
    hosts: [],
    note: '',
    programs: [],
    unused_because: 'only the mesh itself uses this credential',
    notices: [],
  }
}

function readName(text: string): string {
  if (isCredentialName(text)) return canonicalName(text)
  throw new Problem('bad-request', {
    detail: 'the name of a credential has 1 to 128 letters, digits and _; write it without FLOTILLA_CRED_',
  })
}
