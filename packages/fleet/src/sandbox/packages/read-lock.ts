import type { JoinedPackages } from '@flotilla/protocol/agent-packages'
import { lockDigest, packageLockSchema } from '../package-lock.ts'
import type { PackageLock } from '../package-lock.ts'
import { SandboxError } from '../sandbox-error.ts'
import type { BuildContainer } from './build-container.ts'
import { failed } from './build-failed.ts'
import { mustRun } from './build-steps.ts'
import { npmEntries } from './npm-lock.ts'
import { readList } from './read-list.ts'

/** Returns the exact versions and digests of the locked pip packages, in the form that pip reads. */
export function requirementsOf({ pip }: PackageLock): string {
  return pip.map(({ name, version, sha256 }) => `${name}==${version} --hash=sha256:${sha256}\n`).join('')
}

/** Returns the lock of what was downloaded. With a given lock, rejects if any file differs from it. */
export async function lockOf(
  container: BuildContainer,
  of: {
    readonly architecture: PackageLock['architecture']
    readonly packages: JoinedPackages
    readonly lock: PackageLock | null
    /** npm's lock file; empty without npm packages. */
    readonly npmLock: string
  },
): Promise<PackageLock> {
  const listed = readList(await mustRun(container, ['sh', '/fetch/recipe/list.sh', 'fetched']))
  const filesOf = (kind: 'apt' | 'pip') =>
    listed
      .filter((one) => one.kind === kind)
      .map(({ name, version, file, sha256 }) => ({ name, version, file, sha256 }))
  const reading = packageLockSchema.safeParse({
    lock_version: 1,
    architecture: of.architecture,
    packages: of.packages,
    apt: filesOf('apt'),
    pip: filesOf('pip'),
    npm: of.npmLock === '' ? [] : npmEntries(of.npmLock),
    npm_lock: of.npmLock,
  })
  if (!reading.success) throw failed(`the downloaded packages are not as expected: ${reading.error.message}`)
  if (of.lock === null || lockDigest(of.lock) === lockDigest(reading.data)) return reading.data
  throw differs(differences(of.lock, reading.data))
}

/** The error if the registries deliver other files than those in the lock. */
export function differs(how: string): SandboxError {
  return new SandboxError(
    'lock-differs',
    `The registries delivered other files than those in the lock: ${how}.\nRepair: if a new version is acceptable, choose the newest versions with flotilla image rebuild AGENT.`,
  )
}

/** Names the first packages of which one lock has a file that the other lacks. Pure. */
function differences(one: PackageLock, other: PackageLock): string {
  const files = (lock: PackageLock) =>
    [...lock.apt, ...lock.pip].map(({ name, version, sha256 }) => `${name} ${version} ${sha256.slice(0, 12)}`)
  const [before, now] = [new Set(files(one)), new Set(files(other))]
  const changed = [
    ...[...before].filter((file) => !now.has(file)),
    ...[...now].filter((file) => !before.has(file)),
  ].slice(0, 5)
  return changed.length === 0 ? 'npm’s lock file' : changed.join(', ')
}
