import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from '../run-command.ts'
import type { HostPlaces } from './host-places.ts'
import { basicOf } from './registry-table.ts'
import type { RegistryCredential, RegistryTable } from './registry-table.ts'

const publicNpm = 'https://registry.npmjs.org/'
/** The time limit for the question which registry this machine's npm uses, in milliseconds. */
const npmTimeoutMs = 20_000

/** What the file `.npmrc` of this machine says about registries. */
export interface NpmSettings {
  /** Registries of scopes, such as `@corp`. */
  readonly scopes: readonly { readonly scope: string; readonly registry: string }[]
  readonly credentials: readonly RegistryCredential[]
}

/**
 * Adds the npm registries of this machine and their credentials to the table. Returns npm's settings for a container,
 * which name the registries by their addresses there and have no credentials.
 */
export async function addNpmRegistries(
  table: RegistryTable,
  { userFolder, variables }: HostPlaces,
): Promise<string> {
  const asked = await runCommand('npm', ['config', 'get', 'registry'], { timeoutMs: npmTimeoutMs })
  const named = asked.code === 0 ? table.add('npm', asked.stdout) : null
  const registry = named ?? table.add('npm', publicNpm)
  const own = await readFile(join(userFolder, '.npmrc'), 'utf8').catch(() => '')
  const { scopes, credentials } = npmSettings(own, variables)
  for (const credential of credentials) table.addCredential(credential)
  const lines = scopes.flatMap(({ scope, registry: address }) => {
    const local = table.add('npm', address)
    return local === null ? [] : [`${scope}:registry=${local}`]
  })
  return [`registry=${registry}`, ...lines, ''].join('\n')
}

/** Reads the registries of scopes and the credentials, with variables filled in as npm does it. Pure. */
export function npmSettings(
  text: string,
  variables: Readonly<Record<string, string | undefined>>,
): NpmSettings {
  const scopes: { scope: string; registry: string }[] = []
  const byPrefix = new Map<string, Map<string, string>>()
  for (const line of text.split('\n')) {
    const filled = line.trim().replace(/\$\{([^}]+)\}/g, (whole, name: string) => variables[name] ?? whole)
    const [, scope, registry] = /^(@[a-z0-9][a-z0-9._~-]*):registry\s*=\s*(\S+)$/i.exec(filled) ?? []
    if (scope !== undefined && registry !== undefined) scopes.push({ scope, registry: unquoted(registry) })
    const [, prefix, name, value] =
      /^(\/\/[^=\s]+?):(_authToken|_auth|username|_password)\s*=\s*(\S.*)$/.exec(filled) ?? []
    if (prefix === undefined || name === undefined || value === undefined) continue
    const address = prefix.endsWith('/') ? prefix : `${prefix}/`
    const found = byPrefix.get(address) ?? new Map<string, string>()
    byPrefix.set(address, found.set(name, unquoted(value)))
  }
  const credentials = [...byPrefix].flatMap(([prefix, found]) => {
    const authorization = authorizationOf(found)
    return authorization === null ? [] : [{ prefix, authorization }]
  })
  return { scopes, credentials }
}

/** Returns the header that npm sends for these settings of one registry; null if they are incomplete. */
function authorizationOf(found: ReadonlyMap<string, string>): string | null {
  const token = found.get('_authToken')
  if (token !== undefined) return `Bearer ${token}`
  const user = found.get('username')
  const password = found.get('_password')
  // npm stores the password in base64.
  if (user !== undefined && password !== undefined)
    return basicOf(user, Buffer.from(password, 'base64').toString('utf8'))
  const both = found.get('_auth')
  return both === undefined ? null : `Basic ${both}`
}

function unquoted(value: string): string {
  return value.trim().replace(/^(["'])(.*)\1$/, '$2')
}
