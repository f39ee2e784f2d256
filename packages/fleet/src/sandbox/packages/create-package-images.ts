import type { JoinedPackages } from '@flotilla/protocol/agent-packages'
import type {
  EnsurePackages,
  PackageImage,
  PackageImages,
  ResolvedPackages,
  ResolvePackages,
} from '../package-images.ts'
import { createBuildQueue } from '../build-queue.ts'
import type { BesideAgents } from '../sandbox-runtime.ts'
import { besideAgents } from '../sandbox-spec.ts'
import { deriveImage } from './derive-image.ts'
import type { DeriveBase, DeriveOptions } from './derivation.ts'
import { resolvePackages } from './resolve-packages.ts'
import { heldPackages } from './store-image.ts'

/** How many packages of a list that another build waits for are named. */
const namedMax = 3

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
  const builds = createBuildQueue()
  const choices = createBuildQueue()
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
    const container = { name: 'a choice of packages', memoryBytes: besideAgents.choice }
    return choices.take({ name: container.name, signal }, async () => {
      const base = await home.base()
      return counted(container, () => choose(options, base, { ...how, packages, signal }))
    })
  }

  async function ensure(packages: JoinedPackages, how: EnsurePackages): Promise<PackageImage> {
    const signal = joined(how.signal)
    signal.throwIfAborted()
    const found = how.lock === null ? null : await held(options, await home.base(), how.lock)
    if (found !== null) return found
    const name = `the image with ${listWords(packages)}`
    return builds.take({ name, signal, progress: how.progress }, async () => {
      const base = await home.base()
      const container = { name: 'a build of an image', memoryBytes: besideAgents.build }
      return counted(container, () => derive(options, base, { ...how, packages, signal }))
    })
  }

  return {
    ensure,
    resolve,
    idle: async () => void (await Promise.all([builds.idle(), choices.idle()])),
    beside: () => [...now],
  }
}

/** Names some packages of a list. Pure. */
function listWords({ apt, npm, pip }: JoinedPackages): string {
  const all = [...apt, ...npm, ...pip]
  const more = all.length - namedMax
  return [...all.slice(0, namedMax), ...(more > 0 ? [`${more} more packages`] : [])].join(', ')
}
