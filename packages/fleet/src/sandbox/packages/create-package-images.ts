import type { JoinedPackages } from '@flotilla/protocol/agent-packages'
import type { EnsurePackages, PackageImage, PackageImages } from '../package-images.ts'
import { deriveImage } from './derive-image.ts'
import type { DeriveBase, DeriveOptions } from './derivation.ts'
import { heldPackages } from './store-image.ts'

export interface EnginePackageImages extends PackageImages {
  /** Resolves when no build is in progress: after an abort, when its container is removed. */
  idle(): Promise<void>
}

interface Steps {
  readonly held: typeof heldPackages
  readonly derive: typeof deriveImage
}

/**
 * ADAPTER of `package-images.ts` for container engines. Builds run one after another, because each may use as much
 * memory as several agents; an image that exists is returned at once.
 */
export function createPackageImages(
  options: DeriveOptions,
  home: { readonly base: () => Promise<DeriveBase>; readonly closing: AbortSignal },
  { held, derive }: Steps = { held: heldPackages, derive: deriveImage },
): EnginePackageImages {
  let last: Promise<unknown> = Promise.resolve()

  async function ensure(packages: JoinedPackages, how: EnsurePackages): Promise<PackageImage> {
    const signal = how.signal ? AbortSignal.any([how.signal, home.closing]) : home.closing
    signal.throwIfAborted()
    const found = how.lock === null ? null : await held(options, await home.base(), how.lock)
    if (found !== null) return found
    const next = last.then(async () => {
      signal.throwIfAborted()
      return derive(options, await home.base(), { ...how, packages, signal })
    })
    last = next.catch(() => undefined)
    return next
  }

  return { ensure, idle: async () => void (await last) }
}
