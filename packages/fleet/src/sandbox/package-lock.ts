import { createHash } from 'node:crypto'
import * as z from 'zod'
import { packageListSchema } from '@flotilla/protocol/agent-packages'
import type { JoinedPackages } from '@flotilla/protocol/agent-packages'

/** The maximum number of packages in one lock, including dependencies. */
const lockedMax = 5000
const name = z.string().min(1).max(214)
const version = z.string().min(1).max(128)
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

/**
 * Versions and digests of everything that a list of packages installs, dependencies included. The file is in the
 * home, so that each machine that gets the home installs the same files.
 */
export const packageLockSchema = z.strictObject({
  lock_version: z.literal(1),
  architecture: z.enum(['x64', 'arm64']),
  /** The list that was resolved. */
  packages: packageListSchema,
  apt: z.array(z.strictObject({ name, version, file: z.string().max(300), sha256 })).max(lockedMax),
  npm: z.array(z.strictObject({ name, version, integrity: z.string().max(300) })).max(lockedMax),
  pip: z.array(z.strictObject({ name, version, file: z.string().max(300), sha256 })).max(lockedMax),
  /** npm's own lock file as text; empty without npm packages. */
  npm_lock: z.string().max(8 * 1024 * 1024),
})
export type PackageLock = z.infer<typeof packageLockSchema>

/** Returns the short digest of a list, by which agents with equal lists share one lock and one image. Pure. */
export function packagesKey({ apt, npm, pip }: JoinedPackages): string {
  return shortDigest(JSON.stringify([apt, npm, pip]))
}

/** Returns the short digest of everything that an image with this lock contains. Pure. */
export function lockDigest(lock: PackageLock): string {
  return shortDigest(JSON.stringify([lock.architecture, lock.apt, lock.npm, lock.pip, lock.npm_lock]))
}

function shortDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
