import type { JoinedPackages } from '@flotilla/protocol/agent-packages'
import type { PackageLock } from './package-lock.ts'
import type { ReportStep } from './report-step.ts'

/**
 * PORT: images that are derived from the agent image and contain packages of public or private registries.
 *
 * Contract
 * - I1 Programs of packages run without a network: only the package managers reach a network, and only the
 *   registries of this machine's own configuration.
 * - I2 With a lock, the image contains exactly the versions of the lock, and each file has the digest of the lock.
 * - I3 An image that the engine has under the same agent image and lock is returned without a build, and without
 *   waiting for other builds.
 * - I4 A build that fails or is interrupted leaves no image and no container when the call rejects.
 * - I5 A package that its registry does not have is named in the `SandboxError` `package-missing`.
 */
export interface PackageImages {
  /** Returns the image with these packages and the lock of what it contains. Rejects with `SandboxError`. */
  ensure(packages: JoinedPackages, options: EnsurePackages): Promise<PackageImage>
}

export interface EnsurePackages {
  /** The versions to install; null to choose the newest versions that the registries offer for the list. */
  readonly lock: PackageLock | null
  readonly progress: ReportStep
  readonly signal?: AbortSignal | undefined
}

export interface PackageImage {
  /** The image's id, for `SandboxSpec.image`. */
  readonly id: string
  readonly lock: PackageLock
  /** The packages of the image from its package databases; null for an image of which they were not recorded. */
  readonly installed: readonly InstalledPackage[] | null
}

/** A package of an image, including those of the agent image. */
export interface InstalledPackage {
  readonly kind: 'apt' | 'npm' | 'pip'
  readonly name: string
  readonly version: string
}
