import * as z from 'zod'
import type { Engine } from '../engine/connect-engine.ts'
import { isStatus } from './engine-images.ts'

/** Agent images kept beside the newest, for homes that still run an older release. */
const keptImages = 12

const imagesSchema = z.array(z.looseObject({ RepoTags: z.array(z.string()).nullish(), Created: z.number() }))

/**
 * Takes away agent images that a newer bundle has replaced; those that a container stands on stay. Never rejects
 * for an image that cannot be removed.
 */
export async function pruneAgentImages(engine: Engine): Promise<void> {
  const images = imagesSchema.parse(await engine.docker.listImages())
  for (const reference of outdatedImages(images)) {
    await engine.docker
      .getImage(reference)
      .remove()
      .catch((error: unknown) => {
        if (!isStatus(error, 404) && !isStatus(error, 409)) throw error
      })
  }
}

/** All but the newest few, by reference. Pure. */
export function outdatedImages(images: z.infer<typeof imagesSchema>): readonly string[] {
  return images
    .flatMap(({ RepoTags, Created }) => (RepoTags ?? []).map((reference) => ({ reference, Created })))
    .filter(({ reference }) => /(?:^|\/)flotilla\/agent:/.test(reference))
    .toSorted((a, b) => b.Created - a.Created)
    .slice(keptImages + 1)
    .map(({ reference }) => reference)
}
