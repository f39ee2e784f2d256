import { ensureImage } from './ensure-image.ts'
import type { ImageOptions, MadeImage } from './ensure-image.ts'
import { machineImageName } from './prune-images.ts'

/** Files of `images/machine`, all of which go into the image as they are. */
const recipeFiles = [
  'Dockerfile',
  'packages.txt',
  'init.sh',
  'launch.sh',
  'ask.sh',
  'door.sh',
  'build.sh',
  'modules.txt',
] as const

/**
 * QEMU and a kernel from the distribution: 0.7 GB, and minutes the first time, so it is made when an agent may run in a
 * machine of its own, and not before. Rejects with `SandboxError`.
 */
export async function ensureMachineImage(options: ImageOptions): Promise<MadeImage> {
  // A use of its own beside that of the agent's image: of both, the last two of a home stay.
  const own = { ...options, homeId: `${options.homeId} machine` }
  return ensureImage(own, {
    name: machineImageName,
    words: 'the image of machines',
    recipeFiles,
    parts: [],
    prepare: async () => async () => [],
  })
}
