import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { PackageLock } from '../package-lock.ts'
import { homeTag } from '../sandbox-spec.ts'
import { startBuildContainer } from './build-container.ts'
import type { BuildContainer } from './build-container.ts'
import { failed } from './build-failed.ts'
import { fetchMounts } from './build-mounts.ts'
import { mustRun } from './build-steps.ts'
import { imageFilesMax } from './check-image.ts'
import type { DeriveBase, DeriveOptions, Derivation } from './derivation.ts'
import { download, layRecipe } from './download-packages.ts'
import { removeDownloads } from './download-volumes.ts'
import { lockOf } from './read-lock.ts'
import { createRegistryTable } from './registry-table.ts'
import type { RegistryTable } from './registry-table.ts'
import { openRegistryProxy } from './registry-proxy.ts'
import { watchDisk } from './watch-disk.ts'

/** The disk space that downloads may usually take besides their own size, in bytes: npm unpacks packages to check them. */
const unpackedMaxBytes = 4 * 1024 ** 3

/** Files of packages in a container in which no program of a package has run. */
export interface FetchedPackages {
  readonly container: BuildContainer
  readonly lock: PackageLock
  readonly registries: Pick<RegistryTable, 'addresses'>
}

/**
 * Downloads packages in a container, closes the connection to the registries, and calls `use` with the files. Nothing
 * remains afterwards.
 */
export async function withPackages<T>(
  options: DeriveOptions,
  of: Derivation & {
    readonly base: DeriveBase
    readonly downloadMaxBytes?: number | undefined
    readonly memoryBytes?: number | undefined
    /** The disk space that downloads may take besides their own size, in bytes. */
    readonly unpackedMaxBytes?: number
  },
  use: (fetched: FetchedPackages) => Promise<T>,
): Promise<T> {
  const { base } = of
  const registriesFolder = join(registriesFolderOf(options), randomUUID().slice(0, 8))
  // The container mounts the folder, so the proxy opens before the container exists. Its registries are known only once
  // the container has reported the release of its distribution.
  const registries = createRegistryTable()
  const { proxies, recipeDirectory } = options.packages
  const { downloadMaxBytes: maxBytes } = of
  const proxy = await openRegistryProxy({ folder: registriesFolder, registries, proxies, maxBytes })
  const tag = homeTag(options.homeId)
  let container: BuildContainer | null = null
  let volume: string | null = null
  try {
    container = await startBuildContainer(base.engine, {
      image: base.image,
      homeTag: tag,
      program: await readFile(join(recipeDirectory, 'forward.cjs'), 'utf8'),
      mounts: fetchMounts(registriesFolder, tag),
      memoryBytes: of.memoryBytes,
      clock: options.clock,
      signal: of.signal,
    })
    volume = await container.volume()
    // Package managers unpack as root what registries deliver, into a volume, which has no limit.
    const disk = await watchDisk(container, {
      folder: '/fetch',
      maxFiles: imageFilesMax,
      maxBytes: proxy.maxBytes + (of.unpackedMaxBytes ?? unpackedMaxBytes),
      end: container.remove,
    })
    await layRecipe(options.packages, container)
    const npmLock = await download(options.packages, container, { ...of, ...proxy, registries }).catch(
      (error: unknown) => {
        const why = disk.whyFull()
        if (why !== null) throw failed(`the downloads ${why} when they are unpacked`)
        if (!proxy.isFull()) throw error
        throw failed(`the downloads are larger than ${Math.floor(proxy.maxBytes / 1024 ** 2)} MB`)
      },
    )
    disk.end()
    await proxy.close()
    const lock = await lockOf(container, { ...of, architecture: base.engine.architecture, npmLock })
    await mustRun(container, ['rm', '-rf', '/fetch/config'])
    return await use({ container, lock, registries })
  } finally {
    await proxy.close()
    await container?.remove()
    if (volume !== null) await removeDownloads(base.engine, volume)
  }
}

/** Folder of the sockets of registry proxies; a mesh that was killed leaves its socket there. */
export function registriesFolderOf({ volumesFolder }: Pick<DeriveOptions, 'volumesFolder'>): string {
  return join(dirname(volumesFolder), 'registries')
}
