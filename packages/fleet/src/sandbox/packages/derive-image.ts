import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { InstalledPackage, PackageImage } from '../package-images.ts'
import { packagesKey } from '../package-lock.ts'
import type { PackageLock } from '../package-lock.ts'
import { SandboxError } from '../sandbox-error.ts'
import { homeTag } from '../sandbox-spec.ts'
import { mustRun } from './build-steps.ts'
import { startBuildContainer } from './build-container.ts'
import type { BuildContainer } from './build-container.ts'
import { failed } from './build-failed.ts'
import { checkImage } from './check-image.ts'
import type { DeriveBase, DeriveOptions, Derivation } from './derivation.ts'
import { deliveredLibraries } from './delivered-libraries.ts'
import { download, layRecipe } from './download-packages.ts'
import { absentFrom, readList } from './read-list.ts'
import { lockOf } from './read-lock.ts'
import { createRegistryTable } from './registry-table.ts'
import { openRegistryProxy } from './registry-proxy.ts'
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
  const registriesFolder = join(registriesFolderOf(options), packagesKey(of.packages))
  // The container mounts the folder, so the proxy opens before the container exists. Its registries are known only once
  // the container has reported the release of its distribution.
  const registries = createRegistryTable()
  const { proxies } = options.packages
  const proxy = await openRegistryProxy({ folder: registriesFolder, registries, proxies })
  let container: BuildContainer | null = null
  try {
    container = await startBuildContainer(base.engine, {
      image: base.image,
      homeTag: homeTag(options.homeId),
      registriesFolder,
      clock: options.clock,
      forwarder: await readFile(join(options.packages.recipeDirectory, 'forward.cjs'), 'utf8'),
      signal: of.signal,
    })
    await layRecipe(options.packages, container)
    const npmLock = await download(options.packages, container, {
      ...of,
      registries,
      refused: proxy.refused,
      unreachable: proxy.unreachable,
    })
    await proxy.close()
    const lock = await lockOf(container, { ...of, architecture: base.engine.architecture, npmLock })
    const held = of.lock === null ? await heldPackages(options, base, lock) : null
    if (held !== null) return held
    const delivered = await deliveredLibraries(container)
    of.progress('Installing the downloaded packages without a network')
    await mustRun(container, ['sh', '/fetch/recipe/install.sh'])
    const installed = await readInstalled(container, lock)
    await container.stop()
    await checkImage({ changed: container.changed, files: container.files(), lock, delivered })
    const id = await storeImage(options, base, { container, lock, installed, signal: of.signal })
    return { id, lock, installed }
  } finally {
    await proxy.close()
    await container?.remove()
  }
}

/** Reads the package databases of the image; rejects if they lack a locked package. */
async function readInstalled(
  container: BuildContainer,
  lock: PackageLock,
): Promise<readonly InstalledPackage[]> {
  const installed = readList(await mustRun(container, ['sh', '/fetch/recipe/list.sh', 'installed']))
  const absent = absentFrom(installed, lock)
  if (absent.length > 0) throw failed(`these packages are not installed: ${absent.slice(0, 5).join(', ')}`)
  return installed.map(({ kind, name, version }) => ({ kind, name, version }))
}

/** Folder of the sockets of registry proxies; a mesh that was killed leaves its socket there. */
export function registriesFolderOf({ volumesFolder }: Pick<DeriveOptions, 'volumesFolder'>): string {
  return join(dirname(volumesFolder), 'registries')
}
