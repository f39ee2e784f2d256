import type { PackageImage } from '../package-images.ts'
import { SandboxError } from '../sandbox-error.ts'
import { checkImage } from './check-image.ts'
import type { DeriveBase, DeriveOptions, Derivation } from './derivation.ts'
import { deliveredLibraries } from './delivered-libraries.ts'
import { withPackages } from './fetch-packages.ts'
import { withInstalled } from './install-packages.ts'
import { heldPackages, storeImage } from './store-image.ts'

/** The time limit of one build, in milliseconds. */
const buildTimeoutMs = 30 * 60_000

/** Returns the image with the packages on top of the agent image; see `PackageImages` for the contract. */
export async function deriveImage(
  options: DeriveOptions,
  base: DeriveBase,
  of: Derivation,
): Promise<PackageImage> {
  // An earlier build of the queue may have made the image.
  const held = of.lock === null ? null : await heldPackages(options, base, of.lock)
  if (held !== null) return held
  const signal = AbortSignal.any([of.signal, AbortSignal.timeout(buildTimeoutMs)])
  of.progress('Installing packages for agents into an image')
  return build(options, base, { ...of, signal }).catch((error: unknown) => {
    of.signal.throwIfAborted()
    if (!signal.aborted) throw error
    throw new SandboxError(
      'packages-late',
      `The packages were not installed within ${buildTimeoutMs / 60_000} minutes.\nRepair: check whether this machine reaches its package registries, then start the agent again.`,
      { cause: error },
    )
  })
}

async function build(options: DeriveOptions, base: DeriveBase, of: Derivation): Promise<PackageImage> {
  return withPackages(options, { ...of, base }, async (fetched) => {
    const { lock } = fetched
    const held = of.lock === null ? await heldPackages(options, base, lock) : null
    if (held !== null) return held
    const delivered = await deliveredLibraries(fetched.container)
    of.progress('Installing the downloaded packages without a network')
    return withInstalled(options, { ...of, base, fetched }, async (container, installed) => {
      await container.stop()
      await checkImage({ changed: container.changed, files: container.files(), lock, delivered })
      const id = await storeImage(options, base, { container, lock, installed, signal: of.signal })
      return { id, lock, installed }
    })
  })
}
