import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import { readJsonDocument, readTextFile, writeFileAtomically } from '@flotilla/foundation/config'
import { lockDigest, packageLockSchema, packagesBom } from '../../sandbox/index.ts'
import type { PackageImage, PackageLock } from '../../sandbox/index.ts'

/** The lock files of lists of packages in the home, each with a bill of materials beside it. */
export interface LockFiles {
  fileOf(key: string): string
  /** Returns the stored lock; null if it does not exist. Problem `packages-unavailable` for an invalid file. */
  read(key: string): Promise<PackageLock | null>
  /** Returns the digest of the lock that was read or written last; null if the list has no lock so far. */
  digestOf(key: string): string | null
  /**
   * Stores the lock of an image, unless another lock is stored and `renew` is false, and the bill of materials of the
   * stored lock.
   */
  keep(key: string, made: PackageImage, how: { readonly renew: boolean }): Promise<void>
}

export function createLockFiles(folder: string): LockFiles {
  const digests = new Map<string, string>()
  /** Locks whose bill of materials this process has written. */
  const listed = new Set<string>()
  const fileOf = (key: string): string => join(folder, `${key}.lock.json`)

  async function read(key: string): Promise<PackageLock | null> {
    const text = await readTextFile(fileOf(key))
    if (text === null) return null
    const reading = readJsonDocument(text, packageLockSchema)
    if (reading.ok) {
      digests.set(key, lockDigest(reading.document.value))
      return reading.document.value
    }
    throw new Problem('packages-unavailable', {
      detail: `the lock file ${fileOf(key)} is invalid at line ${reading.line}: ${reading.reason}`,
      repair:
        'Restore the file from a backup, or delete it: the next start chooses the newest versions and writes another.',
    })
  }

  return {
    fileOf,
    read,
    digestOf: (key) => digests.get(key) ?? null,
    keep: async (key, { lock, installed }, { renew }) => {
      const digest = lockDigest(lock)
      const stored = renew ? null : await read(key)
      // A rebuild replaced the lock while an image of the old one was built.
      if (stored !== null && lockDigest(stored) !== digest) return
      if (stored === null) await writeFileAtomically(fileOf(key), `${JSON.stringify(lock, null, 2)}\n`)
      digests.set(key, digest)
      if (installed === null || listed.has(`${key}/${digest}`)) return
      const text = JSON.stringify(packagesBom(lock, installed), null, 2)
      await writeFileAtomically(join(folder, `${key}.sbom.json`), `${text}\n`)
      listed.add(`${key}/${digest}`)
    },
  }
}
