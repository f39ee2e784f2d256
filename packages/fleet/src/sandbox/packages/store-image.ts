import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { guardedNode, labelKeys } from '../hardening/container-options.ts'
import { followEngine } from '../image/engine-images.ts'
import { ofRoot } from '../image/ensure-image.ts'
import { noteUse } from '../image/image-uses.ts'
import { installedIn, noteInstalled } from '../image/installed-lists.ts'
import { heldById, imageId, knownImage, noteImage } from '../image/known-images.ts'
import { packagesImageName, pruneImages } from '../image/prune-images.ts'
import type { InstalledPackage, PackageImage } from '../package-images.ts'
import { lockDigest } from '../package-lock.ts'
import type { PackageLock } from '../package-lock.ts'
import { sandboxHardening } from '../sandbox-spec.ts'
import { tarArchive, tarFile } from '../tar-archive.ts'
import { failed } from './build-failed.ts'
import type { BuildContainer } from './build-container.ts'
import type { DeriveBase, DeriveOptions } from './derivation.ts'
import { programsPath } from './programs-path.ts'

/** How many images with packages are kept for one home. */
const keptImagesMax = 16

/** Returns the image with this lock if the engine has it; null otherwise. */
export async function heldPackages(
  options: DeriveOptions,
  base: DeriveBase,
  lock: PackageLock,
): Promise<PackageImage | null> {
  const reference = referenceOf(base, lock)
  const known = await knownImage(options.cacheDirectory, reference)
  if (known === null) return null
  await note(options, known.id)
  const id = await heldById(base.engine, options.cacheDirectory, reference)
  return id === null ? null : { id, lock, installed: await installedIn(options.cacheDirectory, id) }
}

function referenceOf({ image }: DeriveBase, lock: PackageLock): string {
  const tag = createHash('sha256')
    .update(`${image} ${lockDigest(lock)}`)
    .digest('hex')
    .slice(0, 16)
  return `${packagesImageName}${tag}`
}

async function note({ cacheDirectory, homeId, volumesFolder }: DeriveOptions, image: string): Promise<void> {
  // Recorded under another id than agent images, so that the images of each kind are kept for a home.
  const home = { id: `${homeId} packages`, folder: dirname(volumesFolder), keptMax: keptImagesMax }
  await noteUse(cacheDirectory, home, image)
}

/** Stores the container as an image that agents can run from. Leaves nothing if it fails. */
export async function storeImage(
  options: DeriveOptions,
  base: DeriveBase,
  made: {
    readonly container: BuildContainer
    readonly lock: PackageLock
    readonly installed: readonly InstalledPackage[]
    readonly signal: AbortSignal
  },
): Promise<string> {
  const { engine } = base
  const reference = referenceOf(base, made.lock)
  const layer = await made.container.commit()
  const uid = sandboxHardening.uid
  const recipe = [
    `FROM ${layer}`,
    `USER ${uid}:${uid}`,
    'WORKDIR /data',
    `ENV PATH=${programsPath}`,
    // Agents cannot write to the folders of the distribution, so pip installs below /data.
    'ENV PIP_BREAK_SYSTEM_PACKAGES=1',
    `LABEL ${labelKeys.role}=image`,
    `CMD ${JSON.stringify([...guardedNode, '/opt/flotilla/agent.cjs'])}`,
  ].join('\n')
  try {
    const context = tarArchive([tarFile('Dockerfile', Buffer.from(`${recipe}\n`), ofRoot)])
    const stream = await engine.docker.buildImage(Readable.from(context), {
      t: reference,
      rm: true,
      forcerm: true,
      networkmode: 'none',
      abortSignal: made.signal,
    })
    await followEngine(engine, stream)
    const id = await imageId(engine, reference)
    if (id === null) throw failed('the engine does not have the image that it built')
    // The use is recorded before the image: pruning removes only images that are recorded as built here.
    await note(options, id)
    await noteInstalled(options.cacheDirectory, id, made.installed)
    await noteImage(options.cacheDirectory, { reference, id, digest: null })
    await pruneImages(engine, options.cacheDirectory, options.clock.now())
    return id
  } catch (error) {
    await engine.docker
      .getImage(layer)
      .remove()
      .catch(() => undefined)
    throw error
  }
}
