import { Problem } from '@flotilla/protocol/problem'
import { readTextFile, setFileMode } from '@flotilla/foundation/config'
import type { FileEditor } from '@flotilla/foundation/config'
import { credentialNameOf, meshSecretName } from './credential-tiers.ts'
import { parseEnvText, readEnvFile } from './env-file.ts'
import { checkedSecret, readSecretFile, refused, writeSecretFile } from './mesh-secret-file.ts'
import type { IsOurs } from './mesh-secret-file.ts'
import { createSecret } from './secret.ts'
import type { Secret } from './secret.ts'

export interface MeshSecretDeps {
  /** The process's environment wins over `.env`; the file of the mesh's own secret wins over both. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly envFilePath: string
  readonly secretPath: string
  /** Returns `own` if the secret sealed this home's data, `foreign` if another did (for null, any), else `none`. */
  readonly sealed: (secret: Secret | null) => 'none' | 'own' | 'foreign'
}

export interface OpenMeshSecretDeps extends MeshSecretDeps {
  readonly editor: FileEditor
  readonly randomToken: () => string
  readonly log: {
    readonly info: (fields: Readonly<Record<string, unknown>>, fact: string) => void
    readonly warn: (fields: Readonly<Record<string, unknown>>, fact: string) => void
  }
}

/**
 * The mesh's own secret, in a file that contains nothing else: a person who rewrites `.env` must not lose it.
 *
 * 1. It is created at the first start of a home and never again. If anything was sealed, a missing secret or one that
 * sealed nothing is refused (`mesh-secret-refused`). A new secret would make the whole audit log look tampered with.
 * 2. The file is on the disk before anything is sealed, and before the same secret is removed from `.env`.
 * 3. An older home had it in `.env` or the environment. From there it is moved, or copied, once.
 */
export async function openMeshSecret(deps: OpenMeshSecretDeps): Promise<Secret> {
  const { secretPath, log } = deps
  const found = await readSecretFile(secretPath, isOursIn(deps))
  if (found?.openToOthers === true) {
    await setFileMode(secretPath, 0o600)
    log.warn(
      { path: secretPath },
      'the secret of the mesh was readable by others; corrected the mode of its file',
    )
  }
  const older = found ? null : await secretBefore(deps)
  const secret = found?.secret ?? older?.secret ?? null
  const sealed = deps.sealed(secret)
  const place = older?.place ?? secretPath
  if (sealed === 'foreign' && secret !== null)
    throw refused(place, 'has a secret that belongs to another home')
  if (secret === null && sealed !== 'none') {
    throw refused(secretPath, 'is missing, and the audit log of this home was sealed with that secret')
  }
  const kept = secret ?? createSecret(meshSecretName, deps.randomToken())
  if (!found) await writeSecretFile(secretPath, kept.reveal())
  if (older?.place === environmentWords) {
    log.info({ path: secretPath }, 'copied the secret of the mesh from the environment into its own file')
  }
  await clearEnvFile(deps, kept)
  return kept
}

/** Finds the secret, changes nothing; null if it is missing. Throws Problem `mesh-secret-refused` as a start does. */
export async function findMeshSecret(deps: MeshSecretDeps): Promise<Secret | null> {
  const found = await readSecretFile(deps.secretPath, isOursIn(deps))
  return found?.secret ?? (await secretBefore(deps))?.secret ?? null
}

function isOursIn({ sealed }: MeshSecretDeps): IsOurs {
  return (value) => sealed(createSecret(meshSecretName, value)) === 'own'
}

/**
 * Finds a secret with which this home has sealed, in any of its places; null if it does not exist. A place that
 * exists but cannot be read may contain it: Problem `conflict`. Changes nothing.
 */
export async function placeOfOurs(deps: MeshSecretDeps): Promise<string | null> {
  const isOurs = isOursIn(deps)
  const unread: string[] = []
  const readOf = async <T>(path: string, work: () => Promise<T | null>): Promise<T | null> => {
    try {
      return await work()
    } catch (error) {
      const isRefused = error instanceof Problem && error.code === 'mesh-secret-refused'
      if (!isRefused || error.extra['unread'] === true) {
        unread.push(`${path} (${error instanceof Error ? error.message : 'not readable'})`)
      }
      return null
    }
  }
  const { secretPath, envFilePath } = deps
  const file = await readOf(secretPath, () => readSecretFile(secretPath, isOurs))
  if (file && deps.sealed(file.secret) !== 'foreign') return secretPath
  const environment = Object.entries(deps.env)
  if (environment.some(([name, value]) => isMeshSecret(name) && value && isOurs(value))) {
    return environmentWords
  }
  const text = await readOf(envFilePath, () => readTextFile(envFilePath))
  if (oneByOne(text ?? '').some(([name, value]) => isMeshSecret(name) && isOurs(value))) return envFilePath
  if (unread.length === 0) return null
  throw new Problem('conflict', {
    detail: `the secret of this home may be in ${unread.join(' and in ')}, which cannot be read, so it is unknown whether the secret is lost`,
    repair: 'Let the user of this command read that file, or remove the file if you do not need it.',
  })
}

/** Parses each line by itself, so that an invalid line does not affect the others. Pure. */
function oneByOne(text: string): readonly (readonly [string, string])[] {
  return text.split(/\r?\n/).flatMap((line) => {
    try {
      return [...parseEnvText(line)]
    } catch {
      return []
    }
  })
}

const environmentWords = 'FLOTILLA_SYSTEM_MESH_SECRET in the environment'

async function secretBefore(deps: MeshSecretDeps): Promise<{ secret: Secret; place: string } | null> {
  const sources = [
    { place: environmentWords, entries: Object.entries(deps.env) },
    {
      place: `FLOTILLA_SYSTEM_MESH_SECRET in ${deps.envFilePath}`,
      entries: [...(await readEnvFile(deps.envFilePath))],
    },
  ]
  for (const { place, entries } of sources) {
    const value = entries.findLast(([variable, text]) => isMeshSecret(variable) && text)?.[1]
    if (value)
      return { secret: createSecret(meshSecretName, checkedSecret(value, place, isOursIn(deps))), place }
  }
  return null
}

/** Removes the secret's line from `.env`. A line with another secret stays, because only the owner can explain it. */
async function clearEnvFile({ editor, envFilePath, log }: OpenMeshSecretDeps, secret: Secret): Promise<void> {
  const values = [...(await readEnvFile(envFilePath))].filter(([variable]) => isMeshSecret(variable))
  if (values.length === 0) return
  if (values.some(([, value]) => value !== '' && value !== secret.reveal())) {
    log.warn(
      { path: envFilePath },
      'FLOTILLA_SYSTEM_MESH_SECRET is obsolete and differs from the secret in use; remove it',
    )
    return
  }
  try {
    await editor.edit(envFilePath, (text) => {
      const rest = withoutMeshSecret(text ?? '')
      return rest === text ? null : rest
    })
    const left = await readTextFile(envFilePath)
    if (left === null || withoutMeshSecret(left) === left) {
      log.info({ path: envFilePath }, 'moved the secret of the mesh from .env into its own file')
      return
    }
    log.warn({ path: envFilePath }, 'failed to remove the obsolete secret from .env; remove it by hand')
  } catch (error) {
    log.warn(
      { path: envFilePath, err: error },
      'failed to remove the obsolete secret from .env; remove it by hand',
    )
  }
}

/** Removes the secret's lines and keeps all other bytes. Returns a text unchanged if it is not valid UTF-8. Pure. */
export function withoutMeshSecret(text: string): string {
  if (text.includes('\uFFFD')) return text
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : ''
  const lines = text.slice(mark.length).split(/(?<=\n)/)
  return mark + lines.filter((line) => !isMeshSecret(variableOn(line))).join('')
}

function variableOn(line: string): string {
  return /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=/.exec(line)?.[1] ?? ''
}

function isMeshSecret(variable: string): boolean {
  const credential = credentialNameOf(variable)
  return credential?.tier === 'system' && credential.name === meshSecretName
}
