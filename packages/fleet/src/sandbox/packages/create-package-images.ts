import type { JoinedPackages } from '@flotilla/protocol/agent-packages'
import type {
  EnsurePackages,
  PackageImage,
  PackageImages,
  ResolvedPackages,
  ResolvePackages,
} from '../package-images.ts'
import type { BesideAgents } from '../sandbox-runtime.ts'
import { besideAgents } from '../sandbox-spec.ts'
import { deriveImage } from './derive-image.ts'
import type { DeriveBase, DeriveOptions } from './derivation.ts'
import { resolvePackages } from './resolve-packages.ts'
import { heldPackages } from './store-image.ts'

export interface EnginePackageImages extends PackageImages {
  /** Resolves when no build is in progress: after an abort, when its container is removed. */
  idle(): Promise<void>
  /** Returns the builds and choices that have containers now. */
  beside(): readonly BesideAgents[]
}

interface Steps {
  readonly held: typeof heldPackages
  readonly derive: typeof deriveImage
  readonly resolve: typeof resolvePackages
}

const engineSteps: Steps = { held: heldPackages, derive: deriveImage, resolve: resolvePackages }

/**
 * ADAPTER of `package-images.ts` for container engines. Builds run one after another, because each may use as much
 * memory as several agents; an image that exists is returned at once. Locks are chosen one after another as well, and no
 * build waits for that.
 */
export function createPackageImages(
  options: DeriveOptions,
  home: { readonly base: () => Promise<DeriveBase>; readonly closing: AbortSignal },
  { held, derive, resolve: choose }: Steps = engineSteps,
): EnginePackageImages {
  let last: Promise<unknown> = Promise.resolve()
  let lastResolved: Promise<unknown> = Promise.resolve()
  const now = new Set<BesideAgents>()
  /** Counts a container as long as `work` lasts. */
  async function counted<T>(container: BesideAgents, work: () => Promise<T>): Promise<T> {
    now.add(container)
    try {
      return await work()
    } finally {
      now.delete(container)
    }
  }
  const joined = (signal: AbortSignal | undefined): AbortSignal =>
    signal ? AbortSignal.any([signal, home.closing]) : home.closing

  async function resolve(packages: JoinedPackages, how: ResolvePackages): Promise<ResolvedPackages> {
    const signal = joined(how.signal)
    const next = lastResolved.then(async () => {
      signal.throwIfAborted()
      const base = await home.base()
      const container = { name: 'a choice of packages', memoryBytes: besideAgents.choice }
      return counted(container, () => choose(options, base, { ...how, packages, signal }))
    })
    lastResolved = next.catch(() => undefined)
    return next
  }

  async function ensure(packages: JoinedPackages, how: EnsurePackages): Promise<PackageImage> {
    const signal = joined(how.signal)
    signal.throwIfAborted()
    const found = how.lock === null ? null : await held(options, await home.base(), how.lock)
    if (found !== null) return found
    const next = last.then(async () => {
      signal.throwIfAborted()
      const base = await home.base()
      const container = { name: 'a build of an image', memoryBytes: besideAgents.build }
      return counted(container, () => derive(options, base, { ...how, packages, signal }))
    })
    last = next.catch(() => undefined)
    return next
  }

  return {
    ensure,
    resolve,
    idle: async () => void (await Promise.all([last, lastResolved])),
    beside: () => [...now],
  }
}
