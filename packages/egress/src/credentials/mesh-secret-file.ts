import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { Problem } from '@flotilla/protocol/problem'
import { writeFileAtomically } from '@flotilla/foundation/config'
import { meshSecretName } from './credential-tiers.ts'
import { createSecret } from './secret.ts'
import type { Secret } from './secret.ts'

/** Only the owner can read and write the file. */
const secretMode = 0o600
/** Fewer characters indicate a truncated file; the mesh's own secret has 43. */
const secretMinChars = 32
/** The maximum length of the secret of the mesh, in characters. */
const secretMaxChars = 512
/** The maximum length of a secret that the owner of an older home may have chosen, in bytes. */
const secretReadMaxBytes = 4096

/** Returns true if this home sealed its journal with the value. */
export type IsOurs = (value: string) => boolean

export interface FoundSecret {
  readonly secret: Secret
  /** True if other users had access to the file. */
  readonly openToOthers: boolean
}

/**
 * Reads the secret from its own file; null if it is missing. Links, folders and devices are not followed or read, so
 * that the secret is protected by the file's own permissions. Problem `mesh-secret-refused` for anything that is not
 * one line of 32 to 512 characters, except a secret that this home sealed with (`isOurs`). Changes nothing.
 */
export async function readSecretFile(path: string, isOurs: IsOurs): Promise<FoundSecret | null> {
  const file = await openPlainly(path)
  if (file === null) return null
  try {
    const found = await file.stat()
    if (!found.isFile()) throw refused(path, 'is not a regular file')
    const buffer = Buffer.alloc(secretReadMaxBytes + 2)
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0)
    const secret = createSecret(
      meshSecretName,
      checkedSecret(buffer.toString('utf8', 0, bytesRead), path, isOurs),
    )
    return { secret, openToOthers: (found.mode & 0o077) !== 0 }
  } finally {
    await file.close()
  }
}

export async function writeSecretFile(path: string, value: string): Promise<void> {
  await writeFileAtomically(path, `${value}\n`, secretMode)
}

/**
 * Returns the secret in a text; Problem `mesh-secret-refused` names the place and never the value. A secret that
 * sealed data of this home is accepted even if it is too short, because it may be older than the length rule.
 */
export function checkedSecret(text: string, place: string, isOurs: IsOurs): string {
  const value = text.replace(/\r?\n$/, '')
  if (value === '') throw refused(place, 'is empty')
  if (value.length <= secretReadMaxBytes && isOurs(value)) return value
  if (value.length > secretMaxChars) throw refused(place, `is longer than ${secretMaxChars} characters`)
  if (!/^[\x21-\x7e]+$/.test(value)) throw refused(place, 'is not one line of plain characters')
  if (value.length < secretMinChars) {
    throw refused(place, `has ${value.length} characters, and at least ${secretMinChars} are required`)
  }
  return value
}

export function refused(place: string, fault: string, extra: Readonly<Record<string, true>> = {}): Problem {
  return new Problem('mesh-secret-refused', { detail: `${place} ${fault}`, extra })
}

/** Opens a file; null if it does not exist. Non-blocking, because a pipe without a writer would block the start. */
async function openPlainly(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null
    if (code === 'ENOENT') return null
    if (code === 'ELOOP') throw refused(path, 'is a symbolic link; replace it with the file itself')
    if (code === 'EACCES') {
      throw refused(path, 'cannot be read by the user that runs the mesh', { unread: true })
    }
    if (code === 'ENXIO') throw refused(path, 'is not a regular file')
    throw error
  }
}
