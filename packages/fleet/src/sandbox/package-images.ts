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
 * - I6 `resolve` chooses versions and reads files, but runs no program of any package and stores no image.
 */
export interface PackageImages {
  /** Returns the image with these packages and the lock of what it contains. Rejects with `SandboxError`. */
  ensure(packages: JoinedPackages, options: EnsurePackages): Promise<PackageImage>
  /**
   * Returns the lock that an image with the newest versions of these packages would have. Waits for no build. Rejects
   * with `SandboxError`, as `packages-late` or `packages-failed` if a limit is exceeded.
   */
  resolve(packages: JoinedPackages, options: ResolvePackages): Promise<ResolvedPackages>
}

export interface ResolvePackages {
  /** The maximum size of everything that is downloaded, in bytes. */
  readonly downloadMaxBytes: number
  /** The time limit, in milliseconds. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

export interface ResolvedPackages {
  readonly lock: PackageLock
  readonly files: readonly ResolvedFile[]
  /** The registries that this machine is configured to use for the kinds of packages in the list. */
  readonly registries: readonly string[]
}

/** One file of a lock. */
export interface ResolvedFile {
  readonly kind: 'apt' | 'npm' | 'pip'
  readonly name: string
  readonly version: string
  /** The digest by which the file is locked, such as `sha256:` and hex digits, or npm's `sha512-` and base64. */
  readonly digest: string
  /** The size of the download, in bytes; null if it is unknown. */
  readonly bytes: number | null
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
