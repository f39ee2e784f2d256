import * as fs from 'node:fs'
import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { packedFile } from '@flotilla/protocol/built-program'
import { Problem } from '@flotilla/protocol/problem'
import { dataPaths } from '@flotilla/foundation/config'
import { writeClusterImage } from '@flotilla/fleet/sandbox/docker'
import { clusterImage, meshImage } from '../choose-cluster.ts'
import { imageParts } from '../image-parts.ts'
import { requireFile } from './backup.ts'
import type { CommandContext } from './command-context.ts'
import { printStep } from './print-step.ts'

/** The name in place of a home's id under which the built images count as used, so that no home prunes them. */
const user = 'cluster-image'

/** Returns the name of the mesh image. Throws in a git checkout: the image needs the installed package. */
function requirePackage({ repositoryRoot }: CommandContext): string {
  if (packedFile(fs, repositoryRoot, 'mesh/main.mjs') !== null) return meshImage
  throw new Problem('conflict', {
    detail: 'the image of the mesh can only be built from the installed package, and this is a git checkout',
    repair:
      'Run npm pack, install the package file that it writes, and run flotilla image from the installed package.',
  })
}

/** Writes the agent image for a cluster into `--file`. Needs the engine but no home. */
export function image(context: CommandContext): Promise<number> {
  return write(context, null)
}

/** Writes the agent image and the mesh image into one archive. */
export async function imageWithMesh(context: CommandContext): Promise<number> {
  return write(context, requirePackage(context))
}

async function write(context: CommandContext, meshReference: string | null): Promise<number> {
  const file = resolve(requireFile(context))
  if (existsSync(file)) {
    throw new Problem('conflict', {
      detail: `the file ${file} already exists`,
      repair: 'Name another file, or remove this one first.',
    })
  }
  if (!existsSync(dirname(file))) {
    throw new Problem('not-found', {
      detail: `the folder ${dirname(file)} does not exist`,
      repair: 'Name a file in an existing folder: flotilla image FILE.',
    })
  }
  const reference = context.environment.kubernetes.image ?? clusterImage
  const parts = imageParts(context, dataPaths(context.environment.home))
  const { architecture } = await writeClusterImage({
    ...parts,
    // The images count as used as long as the cache folder exists, because a home may not exist yet.
    volumesFolder: join(parts.cacheDirectory, 'volumes'),
    homeId: user,
    reference,
    meshReference,
    file,
    progress: printStep(context.print),
    signal: context.stopped,
  })
  const mesh = meshReference === null ? {} : { mesh: meshReference }
  context.print({ file, reference, ...mesh, architecture, bytes: (await stat(file)).size })
  return 0
}
