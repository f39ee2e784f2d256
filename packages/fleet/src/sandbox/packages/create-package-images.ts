import type { PackageImages } from '../package-images.ts'
import { deriveImage } from './derive-image.ts'
import type { DeriveBase, DeriveOptions } from './derive-image.ts'

/**
 * ADAPTER of `package-images.ts` for container engines. Builds run one after another, because each may use as much
 * memory as several agents.
 */
export function createPackageImages(
  options: DeriveOptions,
  home: { readonly base: () => Promise<DeriveBase>; readonly closing: AbortSignal },
): PackageImages {
  let last: Promise<unknown> = Promise.resolve()
  return {
    ensure: (packages, how) => {
      const signal = how.signal ? AbortSignal.any([how.signal, home.closing]) : home.closing
      const next = last.then(async () =>
        deriveImage(options, await home.base(), { ...how, packages, signal }),
      )
      last = next.catch(() => undefined)
      return next
    },
  }
}
