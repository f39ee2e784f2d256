import type { JoinedPackages } from '@flotilla/protocol/agent-packages'
import type { PackageImages } from '../../fleet/src/sandbox/package-images.ts'
import { lockDigest } from '../../fleet/src/sandbox/package-lock.ts'
import type { PackageLock } from '../../fleet/src/sandbox/package-lock.ts'
import { SandboxError } from '../../fleet/src/sandbox/sandbox-error.ts'

export interface FakePackageImages extends PackageImages {
  /** The version that the registry has of each package; a missing name is missing in the registry. */
  readonly registry: Map<string, string>
  /** The lists of all builds. */
  readonly built: JoinedPackages[]
  /** Called in each build, before the packages are installed. */
  beforeInstall: (signal: AbortSignal | undefined) => Promise<void>
  forget(id: string): void
}

/** ADAPTER of `package-images.ts` in memory, for apt packages alone. */
export function createFakePackageImages(): FakePackageImages {
  const images = new Set<string>()
  const fake: FakePackageImages = {
    registry: new Map(),
    built: [],
    beforeInstall: async () => {},
    forget: (id) => images.delete(id),
    ensure: async (packages, { lock: given, progress, signal }) => {
      if (given !== null && images.has(idOf(given)))
        return { id: idOf(given), lock: given, installed: installedOf(given) }
      const lock: PackageLock = {
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
      }
      if (given !== null && lockDigest(given) !== lockDigest(lock))
        throw new SandboxError('lock-differs', 'The registry has other files.\nRepair: rebuild.')
      progress('Installing the downloaded packages without a network')
      await fake.beforeInstall(signal)
      signal?.throwIfAborted()
      fake.built.push(packages)
      images.add(idOf(lock))
      return { id: idOf(lock), lock, installed: installedOf(lock) }
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
