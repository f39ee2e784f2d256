import type { Engine } from '../engine/connect-engine.ts'
import { isStatus } from './engine-images.ts'
import { forgetUse, imagesInUse, wasNoted } from './image-uses.ts'
import { forgetInstalled } from './installed-lists.ts'
import { forgetImage, imageId, knownImages, knownSince } from './known-images.ts'
import type { KnownImage } from './known-images.ts'

/** Names that this product gives to images of agents, of their browsers and of their machines. */
export const agentImageName = 'localhost/flotilla/agent:'
export const browserImageName = 'localhost/flotilla/browser:'
export const machineImageName = 'localhost/flotilla/machine:'
/** Name of images that contain packages for agents. */
export const packagesImageName = 'localhost/flotilla/packages:'
/** Name of images that are made from an image of the owner. */
export const ownImageName = 'localhost/flotilla/own:'

/** How long an image without recorded uses is kept: a home of an earlier release may run from it. */
const unnotedKeptMs = 14 * 24 * 3_600_000

/** Removes images that were built on this machine and that no home of this machine needs. Returns the removed ids. */
export async function pruneImages(
  engine: Engine,
  cacheDirectory: string,
  now: number,
): Promise<readonly string[]> {
  return forgetImages(engine, cacheDirectory, await noLongerNeeded(cacheDirectory, now))
}

/** Returns the recorded images that the engine still has and that no home needs. */
export async function unusedImages(
  engine: Engine,
  cacheDirectory: string,
  now: number,
): Promise<readonly Pick<KnownImage, 'reference' | 'id'>[]> {
  const found: ImageFacts[] = []
  for (const image of await noLongerNeeded(cacheDirectory, now)) {
    if ((await imageId(engine, image.id)) !== null) found.push(image)
  }
  return found
}

async function noLongerNeeded(cacheDirectory: string, now: number): Promise<readonly ImageFacts[]> {
  const known = await Promise.all(
    (await knownImages(cacheDirectory)).map(async (image) => ({
      ...image,
      since: (await knownSince(cacheDirectory, image)) ?? now,
      noted: await wasNoted(cacheDirectory, image.id),
    })),
  )
  return outdatedImages(known, await imagesInUse(cacheDirectory), now)
}

/**
 * Removes images by id, so that another image with the same name stays. The engine itself refuses to remove an image
 * that a container uses or that has another name too. Returns the removed ids.
 */
export async function forgetImages(
  engine: Engine,
  cacheDirectory: string,
  images: readonly Pick<KnownImage, 'reference' | 'id'>[],
): Promise<readonly string[]> {
  const gone: string[] = []
  for (const image of images) {
    // Another mesh may have begun to use the image; each mesh records a use before it looks the image up.
    if ((await imagesInUse(cacheDirectory)).has(image.id)) continue
    try {
      await engine.docker.getImage(image.id).remove()
      gone.push(image.id)
    } catch (error) {
      if (isStatus(error, 409)) continue
      if (!isStatus(error, 404)) throw error
    }
    await forgetImage(cacheDirectory, image)
    await forgetUse(cacheDirectory, image.id)
    await forgetInstalled(cacheDirectory, image.id)
  }
  return gone
}

export interface ImageFacts extends KnownImage {
  /** When the image was built or pulled, milliseconds since 1970. */
  readonly since: number
  /** Whether any home ever recorded a use of the image. */
  readonly noted: boolean
}

const prunedNames = [agentImageName, browserImageName, machineImageName, packagesImageName, ownImageName]

/** Returns the images of these names that no home uses; if never noted as used, only old ones. Pure. */
export function outdatedImages(
  known: readonly ImageFacts[],
  inUse: ReadonlySet<string>,
  now: number,
): readonly ImageFacts[] {
  return known.filter(
    ({ reference, id, since, noted }) =>
      prunedNames.some((name) => reference.startsWith(name)) &&
      !inUse.has(id) &&
      (noted || now - since >= unnotedKeptMs),
  )
}
