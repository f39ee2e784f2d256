import type { FileEditor } from '@flotilla/foundation/config'
import { credentialNameOf, meshSecretName, variableOf } from './credential-tiers.ts'
import type { CredentialTier } from './credential-tiers.ts'
import { readEnvFile, setEnvValues } from './env-file.ts'
import { Problem } from '@flotilla/protocol/problem'
import { createInTurn } from '@flotilla/protocol/turns'
import { createSecret } from './secret.ts'
import type { Secret } from './secret.ts'

/**
 * All credentials, loaded once at start. The file `.env` is not encrypted; its mode lets only the mesh read it. Names have no
 * prefix, and case does not matter.
 */
export interface Vault {
  /** Returns a credential of the mesh itself, such as a provider key. The mesh's own secret is not among them. */
  system(name: string): Secret | undefined
  /** Finds credentials for agents by handle, never a system credential. */
  agentTier(name: string): Secret | undefined
  names(): { readonly system: readonly string[]; readonly agent: readonly string[] }
  /** Returns the source of the agent-tier credential of that name; null if it does not exist. */
  sourceOf(name: string): 'environment' | 'file' | null
  /**
   * Writes an agent-tier credential to `.env`; it takes effect at once. Problem `conflict` for one that the
   * environment sets, `unprocessable` for a name or value that cannot be written.
   */
  storeAgent(name: string, value: string): Promise<Secret>
  /** Resolves to false if the credential did not exist. Problem `conflict` if the environment sets the credential. */
  removeAgent(name: string): Promise<boolean>
  /** Writes a system credential to `.env` with immediate effect. Problem `unprocessable` for several lines. */
  storeSystem(name: string, value: string): Promise<void>
  removeSystem(name: string): Promise<void>
  /**
   * Writes related system credentials to `.env` in one write, and deletes those that are null; all take effect
   * together, or none if the write fails. `decide` runs when all earlier changes are in effect; if it throws, nothing
   * changes.
   */
  changeSystem(decide: () => Readonly<Record<string, string | null>>): Promise<void>
  /** Returns the source of the system credential of that name; null if it does not exist. */
  systemSourceOf(name: string): 'environment' | 'file' | null
}

export interface VaultDeps {
  /** The environment of the process, which takes precedence over the file. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly envFilePath: string
  readonly editor: FileEditor
}

/** Loads both prefixes. Throws the Problem `unprocessable` when `.env` is broken. */
export async function createVault(deps: VaultDeps): Promise<Vault> {
  const tiers: Record<CredentialTier, Map<string, Secret>> = { system: new Map(), agent: new Map() }
  const fromEnvironment = new Set<string>()
  const systemFromEnvironment = new Set<string>()
  const inTurn = createInTurn()

  function take(variable: string, value: string | undefined): void {
    const credential = value ? credentialNameOf(variable) : null
    if (credential?.tier === 'system' && credential.name === meshSecretName) return
    if (credential && value) tiers[credential.tier].set(credential.name, createSecret(credential.name, value))
  }

  for (const [variable, value] of await readEnvFile(deps.envFilePath)) take(variable, value)
  for (const [variable, value] of Object.entries(deps.env)) {
    take(variable, value)
    const credential = value ? credentialNameOf(variable) : null
    if (credential?.tier === 'agent') fromEnvironment.add(credential.name)
    if (credential?.tier === 'system') systemFromEnvironment.add(credential.name)
  }

  function sourceOf(name: string): 'environment' | 'file' | null {
    if (fromEnvironment.has(name)) return 'environment'
    return tiers.agent.has(name) ? 'file' : null
  }

  /** Replaces all spellings of a name, so that no older line takes effect at the next start. */
  async function write(tier: CredentialTier, changes: ReadonlyMap<string, string | null>): Promise<void> {
    const values = [...changes].map(([name, value]) => [variableOf(tier, name), value] as const)
    await setEnvValues(deps.editor, deps.envFilePath, {
      values: Object.fromEntries(values),
      replaces: (variable) => {
        const old = credentialNameOf(variable)
        return old?.tier === tier && changes.has(old.name)
      },
    })
  }

  function changeSystem(decide: () => Readonly<Record<string, string | null>>): Promise<void> {
    return inTurn(async () => {
      const changes = new Map(
        Object.entries(decide()).map(([name, value]) => [name.toLowerCase(), value] as const),
      )
      if (changes.size === 0) return
      await write('system', changes)
      // This loop has no `await`, so that other code never sees a new key together with an old address.
      for (const [name, value] of changes) {
        if (value === null) tiers.system.delete(name)
        else take(variableOf('system', name), value)
      }
    })
  }

  async function writeAgent(name: string, value: string | null): Promise<void> {
    if (sourceOf(name) === 'environment') {
      throw new Problem('conflict', {
        detail: `${variableOf('agent', name)} is set in the environment of the mesh; change it there`,
      })
    }
    await write('agent', new Map([[name, value]]))
  }

  return {
    sourceOf: (name) => sourceOf(name.toLowerCase()),
    async storeAgent(name, value) {
      const known = name.toLowerCase()
      await writeAgent(known, value)
      const secret = createSecret(known, value)
      tiers.agent.set(known, secret)
      return secret
    },
    async removeAgent(name) {
      const known = name.toLowerCase()
      if (!tiers.agent.has(known)) return false
      await writeAgent(known, null)
      return tiers.agent.delete(known)
    },
    system: (name) => tiers.system.get(name.toLowerCase()),
    agentTier: (name) => tiers.agent.get(name.toLowerCase()),
    names: () => ({ system: [...tiers.system.keys()].toSorted(), agent: [...tiers.agent.keys()].toSorted() }),
    changeSystem,
    storeSystem: (name, value) => changeSystem(() => ({ [name]: value })),
    removeSystem: (name) => changeSystem(() => ({ [name]: null })),
    systemSourceOf(name) {
      const known = name.toLowerCase()
      if (systemFromEnvironment.has(known)) return 'environment'
      return tiers.system.has(known) ? 'file' : null
    },
  }
}
