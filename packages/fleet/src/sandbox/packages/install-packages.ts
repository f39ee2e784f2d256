import type { InstalledPackage } from '../package-images.ts'
import type { PackageLock } from '../package-lock.ts'
import { homeTag } from '../sandbox-spec.ts'
import { startBuildContainer } from './build-container.ts'
import type { BuildContainer } from './build-container.ts'
import { failed } from './build-failed.ts'
import { installMounts } from './build-mounts.ts'
import { mustRun } from './build-steps.ts'
import { imageFilesMax } from './check-image.ts'
import type { DeriveBase, DeriveOptions, Derivation } from './derivation.ts'
import type { FetchedPackages } from './fetch-packages.ts'
import { absentFrom, readList } from './read-list.ts'
import { watchDisk } from './watch-disk.ts'

/** The first process of a container in which packages are installed: it does nothing. */
const idleProgram = 'setInterval(() => {}, 2 ** 30)'

/**
 * Installs the downloads in a second container, which can only read them, and calls `use` with it. Programs of packages
 * run in it as root; they get no network and cannot write to the volume.
 */
export async function withInstalled<T>(
  options: Pick<DeriveOptions, 'homeId' | 'clock'>,
  of: Pick<Derivation, 'signal'> & {
    readonly base: DeriveBase
    readonly fetched: Pick<FetchedPackages, 'container' | 'lock'>
    /** The maximum number of files that are made during the installation. */
    readonly filesMax?: number
  },
  use: (container: BuildContainer, installed: readonly InstalledPackage[]) => Promise<T>,
): Promise<T> {
  const { base, fetched, signal, filesMax = imageFilesMax } = of
  const tag = homeTag(options.homeId)
  const container = await startBuildContainer(base.engine, {
    image: base.image,
    homeTag: tag,
    program: idleProgram,
    mounts: installMounts(await fetched.container.volume(), tag),
    clock: options.clock,
    signal,
  })
  try {
    const disk = await watchDisk(fetched.container, {
      folder: '/',
      maxFiles: filesMax,
      // The engine counts the bytes of this container.
      maxBytes: Infinity,
      end: container.remove,
    })
    const installed = await install(container, fetched.lock).catch((error: unknown) => {
      const why = disk.whyFull()
      throw why === null ? error : failed(`the packages ${why}`)
    })
    return await use(container, installed)
  } finally {
    await container.remove()
  }
}

/** Installs the packages, and reads the package databases of the image; rejects if they lack a locked package. */
async function install(container: BuildContainer, lock: PackageLock): Promise<readonly InstalledPackage[]> {
  await mustRun(container, ['sh', '/fetch/recipe/install.sh'])
  const installed = readList(await mustRun(container, ['sh', '/fetch/recipe/list.sh', 'installed']))
  const absent = absentFrom(installed, lock)
  if (absent.length > 0) throw failed(`these packages are not installed: ${absent.slice(0, 5).join(', ')}`)
  return installed.map(({ kind, name, version }) => ({ kind, name, version }))
}
