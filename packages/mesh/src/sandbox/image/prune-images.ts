import type { Engine } from '../engine/connect-engine.ts'
import { isStatus } from './engine-images.ts'
import { imagesInUse } from './image-uses.ts'
import { forgetImage, knownImages } from './known-images.ts'
import type { KnownImage } from './known-images.ts'

/** Names that this product gives to images of agents. */
export const agentImageName = 'localhost/flotilla/agent:'

/**
 * Takes away agent images that were made here and that no home of this machine needs any more. They are known by their
 * ids, so that what only bears such a name stays, as does one that a container stands on or that bears another name
 * too: the engine itself refuses those. Gives the ids that are gone.
 */
export async function pruneAgentImages(engine: Engine, cacheDirectory: string): Promise<readonly string[]> {
  const inUse = await imagesInUse(cacheDirectory)
  const gone: string[] = []
  for (const image of outdatedImages(await knownImages(cacheDirectory), inUse)) {
    try {
      await engine.docker.getImage(image.id).remove()
      gone.push(image.id)
    } catch (error) {
      if (isStatus(error, 409)) continue
      if (!isStatus(error, 404)) throw error
    }
    await forgetImage(cacheDirectory, image)
  }
  return gone
}

/** Pure. */
export function outdatedImages(
  known: readonly KnownImage[],
  inUse: ReadonlySet<string>,
): readonly KnownImage[] {
  return known.filter(({ reference, id }) => reference.startsWith(agentImageName) && !inUse.has(id))
}
