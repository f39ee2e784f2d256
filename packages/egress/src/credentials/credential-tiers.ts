import { environmentOnlyNames } from '@flotilla/foundation/config'

/**
 * `system` credentials are for the mesh alone; `agent` credentials can be used by handle if the agent's record
 * permits it.
 */
export type CredentialTier = 'system' | 'agent'

export interface CredentialName {
  readonly tier: CredentialTier
  /** The credential's name without the prefix of its variable, in lower case. */
  readonly name: string
}

export const tierPrefixes = {
  system: 'FLOTILLA_SYSTEM_',
  agent: 'FLOTILLA_CRED_',
} as const satisfies Record<CredentialTier, string>

/** The mesh's own secret has its own file and cannot be a credential of this name. */
export const meshSecretName = 'mesh_secret'

const nameForm = /^[A-Za-z0-9][A-Za-z0-9_]{0,127}$/
/** Names of variables that are never credentials, whatever their prefix. */
const environmentOnly: ReadonlySet<string> = new Set(environmentOnlyNames.map((name) => name.toLowerCase()))

/** Parses a variable's name as a credential name; null if it is not one. Only the prefix decides the tier. Pure. */
export function credentialNameOf(variable: string): CredentialName | null {
  for (const tier of ['system', 'agent'] as const) {
    const prefix = tierPrefixes[tier]
    const rest = variable.slice(prefix.length)
    if (variable.startsWith(prefix) && nameForm.test(rest) && !environmentOnly.has(rest.toLowerCase()))
      return { tier, name: rest.toLowerCase() }
  }
  return null
}

/** Returns whether a credential may have this name; a name must not begin like a variable of the mesh. Pure. */
export function isCredentialName(name: string): boolean {
  return (
    nameForm.test(name) &&
    !/^flotilla_(?:system|cred)_/i.test(name) &&
    !environmentOnly.has(name.toLowerCase())
  )
}

/** The variable that holds a credential. */
export function variableOf(tier: CredentialTier, name: string): string {
  if (!nameForm.test(name)) throw new Error(`${name} is not a credential name`)
  return tierPrefixes[tier] + name.toUpperCase()
}
