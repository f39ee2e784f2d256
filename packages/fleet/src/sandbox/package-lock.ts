import { createHash } from 'node:crypto'
import * as z from 'zod'
import { packageListSchema } from '@flotilla/protocol/agent-packages'
import type { JoinedPackages } from '@flotilla/protocol/agent-packages'

/** The maximum number of packages in one lock, including dependencies. */
const lockedMax = 5000
// Names and versions become words of command lines and lines of files in a build, so each has the form of its registry.
const aptName = z.string().regex(/^[a-z0-9][a-z0-9+.-]{0,127}$/)
const aptVersion = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9.+:~-]{0,127}$/)
const npmName = z
  .string()
  .regex(/^(?:@[A-Za-z0-9_~-][A-Za-z0-9._~-]*\/)?[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,213}$/)
const npmVersion = z.string().regex(/^[0-9A-Za-z][0-9A-Za-z.+-]{0,127}$/)
const pipName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/)
const pipVersion = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9.+!_-]{0,127}$/)
/** Digests of one file of npm, separated by spaces; a person who decides reads them, so nothing else may follow. */
const npmDigests = z
  .string()
  .max(600)
  .regex(/^(?:sha\d{1,3}-[A-Za-z0-9+/]+=*(?: |$))*$/)
const file = z.string().regex(/^[^/\0\n\t]{0,300}$/)
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
  apt: z.array(z.strictObject({ name: aptName, version: aptVersion, file, sha256 })).max(lockedMax),
  npm: z.array(z.strictObject({ name: npmName, version: npmVersion, integrity: npmDigests })).max(lockedMax),
  pip: z.array(z.strictObject({ name: pipName, version: pipVersion, file, sha256 })).max(lockedMax),
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
