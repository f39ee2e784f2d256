import type { JoinedPackages } from '@flotilla/protocol/agent-packages'
import type { PackageImages, ResolvePackages } from '../../fleet/src/sandbox/package-images.ts'
import { lockDigest } from '../../fleet/src/sandbox/package-lock.ts'
import type { PackageLock } from '../../fleet/src/sandbox/package-lock.ts'
import { SandboxError } from '../../fleet/src/sandbox/sandbox-error.ts'

/** The size of every file, in bytes. */
const fileBytes = 1000

export interface FakePackageImages extends PackageImages {
  /** The version that the registry has of each package; a missing name is missing in the registry. */
  readonly registry: Map<string, string>
  /** The lists of all builds, and of all chosen locks. */
  readonly built: JoinedPackages[]
  readonly resolved: JoinedPackages[]
  /** Called in each choice of a lock. */
  beforeResolve: (how: ResolvePackages) => Promise<void>
  /** Called in each build, before the packages are installed. */
  beforeInstall: (signal: AbortSignal | undefined) => Promise<void>
  forget(id: string): void
}

/** ADAPTER of `package-images.ts` in memory, for apt packages alone. */
export function createFakePackageImages(): FakePackageImages {
  const images = new Set<string>()
  /** The lock of a list, or of the names of another lock, with the versions that the registry has now. */
  const lockFor = (packages: JoinedPackages, given: PackageLock | null): PackageLock => ({
    lock_version: 1,
    architecture: 'x64',
    packages: { apt: [...packages.apt] },
    apt: (given?.apt.map(({ name }) => name) ?? packages.apt).map((name) => {
      const version = fake.registry.get(name)
      if (version === undefined)
        throw new SandboxError(
          'package-missing',
          `${name} is not in the registry.\nRepair: correct the name.`,
        )
      return { name, version, file: `${name}.deb`, sha256: digestOf(version) }
    }),
    npm: [],
    pip: [],
    npm_lock: '',
  })
  const fake: FakePackageImages = {
    registry: new Map(),
    built: [],
    resolved: [],
    beforeResolve: async () => {},
    beforeInstall: async () => {},
    forget: (id) => images.delete(id),
    ensure: async (packages, { lock: given, progress, signal }) => {
      if (given !== null && images.has(idOf(given)))
        return { id: idOf(given), lock: given, installed: installedOf(given) }
      const lock = lockFor(packages, given)
      if (given !== null && lockDigest(given) !== lockDigest(lock))
        throw new SandboxError('lock-differs', 'The registry has other files.\nRepair: rebuild.')
      progress('Installing the downloaded packages without a network')
      await fake.beforeInstall(signal)
      signal?.throwIfAborted()
      fake.built.push(packages)
      images.add(idOf(lock))
      return { id: idOf(lock), lock, installed: installedOf(lock) }
    },
    resolve: async (packages, how) => {
      fake.resolved.push(packages)
      await fake.beforeResolve(how)
      how.signal?.throwIfAborted()
      const lock = lockFor(packages, null)
      if (lock.apt.length * fileBytes > how.downloadMaxBytes)
        throw new SandboxError(
          'packages-failed',
          'The downloads are larger than the limit.\nRepair: ask for less.',
        )
      const files = lock.apt.map(({ name, version, sha256 }) => ({
        kind: 'apt' as const,
        name,
        version,
        digest: `sha256:${sha256}`,
        bytes: fileBytes,
      }))
      return { lock, files, registries: ['apt http://registry.test/'] }
    },
  }
  return fake
}

function installedOf({ apt }: PackageLock) {
  return apt.map(({ name, version }) => ({ kind: 'apt' as const, name, version }))
}

function idOf(lock: PackageLock): string {
  return `sha256:${lockDigest(lock)}`
}

function digestOf(version: string): string {
  return Buffer.from(version).toString('hex').padEnd(64, '0').slice(0, 64)
}
