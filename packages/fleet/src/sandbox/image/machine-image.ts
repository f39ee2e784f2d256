import { ensureImage } from './ensure-image.ts'
import type { ImageOptions, MadeImage } from './ensure-image.ts'
import { machineImageName } from './prune-images.ts'

/** Files of `images/machine`, all of which are sent to the build unchanged. */
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
 * Builds an image with QEMU and a kernel from the distribution: 0.7 GB and minutes the first time, so it is built
 * only when an agent may run in its own machine. Rejects with `SandboxError`.
 */
export async function ensureMachineImage(options: ImageOptions): Promise<MadeImage> {
  // Recorded under another id than agent images, so that the last two images of each kind are kept for a home.
  const own = { ...options, homeId: `${options.homeId} machine` }
  return ensureImage(own, {
    name: machineImageName,
    label: 'the image of machines',
    recipeFiles,
    parts: [],
    prepare: async () => async () => [],
  })
}
