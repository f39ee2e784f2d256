import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { moveIntoPlace } from '@flotilla/foundation/config'
import type { Engine } from '../engine/connect-engine.ts'
import { ensureEngine } from '../engine/ensure-engine.ts'
import { reasonOf, SandboxError } from '../sandbox-error.ts'
import { sandboxHardening } from '../sandbox-spec.ts'
import { tarArchive, tarFile } from '../tar-archive.ts'
import type { TarEntry } from '../tar-archive.ts'
import { ensureAgentImage } from './agent-image.ts'
import type { AgentImageOptions } from './agent-image.ts'
import { bundleAgent } from './bundle-agent.ts'
import { followEngine, isStatus } from './engine-images.ts'
import { ofRoot } from './ensure-image.ts'
import { meshFiles, meshRecipe } from './mesh-image.ts'

export interface ClusterImageOptions extends Omit<AgentImageOptions, 'engine' | 'bundle'> {
  readonly agentEntry: string
  readonly engineSocket: string | undefined
  readonly dockerHost: string | undefined
  readonly stateDirectory: string
  /** The image reference on the nodes. */
  readonly reference: string
  /** The reference of the mesh image on nodes, built from `packageDirectory`; null to build no mesh image. */
  readonly meshReference: string | null
  /** The archive to create, in a format that every container runtime loads. The file must not exist. */
  readonly file: string
}

/**
 * Builds the agent image for pods and, on request, the mesh image on the same layers, and writes both into
 * one archive. The engine keeps only the base layers.
 */
export async function writeClusterImage(
  options: ClusterImageOptions,
): Promise<{ readonly architecture: string }> {
  const { reference, meshReference, file, progress } = options
  const [engine, bundle] = await Promise.all([
    ensureEngine({ ...options, signal: options.signal }),
    bundleAgent({ entry: options.agentEntry, cacheDirectory: options.cacheDirectory }),
  ])
  const agent = await ensureAgentImage({ ...options, engine, bundle: bundle.files })
  const { signal } = options
  const references = [reference]
  const half = `${file}.part`
  try {
    await build(engine, { reference, recipe: clusterRecipe(agent.id), files: [], signal })
    if (meshReference !== null) {
      progress('Building the image of the mesh')
      references.push(meshReference)
      const files = await meshFiles(options.packageDirectory)
      await build(engine, { reference: meshReference, recipe: meshRecipe(agent.id), files, signal })
    }
    progress(`Writing ${references.join(' and ')} into ${file}`)
    await pipeline(await archiveOf(engine, references), createWriteStream(half, { flags: 'wx' }), { signal })
    await moveIntoPlace(half, file)
  } catch (cause) {
    await rm(half, { force: true })
    throw new SandboxError(
      'image-not-written',
      `The image was built but could not be written to ${file}: ${cause instanceof Error ? cause.message : String(cause)}\nRepair: name a file in a folder with several gigabytes of free space.`,
      { cause },
    )
  } finally {
    for (const made of references) {
      await engine.docker
        .getImage(made)
        .remove()
        .catch((error: unknown) => {
          if (!isStatus(error, 404)) throw error
        })
    }
  }
  return { architecture: engine.architecture }
}

/**
 * Returns the recipe of the agent image for pods. Kubernetes cannot mount a volume that forbids execution, but its
 * container runtimes provide /dev/shm with that property, in memory and 64 MiB large, so /tmp is placed there. Pure.
 */
export function clusterRecipe(agentImage: string): string {
  return `FROM ${agentImage}\nUSER 0\nRUN rm -rf /tmp && ln -s /dev/shm /tmp\nUSER ${sandboxHardening.uid}:${sandboxHardening.uid}\n`
}

async function build(
  engine: Engine,
  of: {
    readonly reference: string
    readonly recipe: string
    readonly files: readonly TarEntry[]
    readonly signal: AbortSignal | undefined
  },
): Promise<void> {
  const context = [tarFile('Dockerfile', Buffer.from(of.recipe), ofRoot), ...of.files]
  const stream = await engine.docker.buildImage(Readable.from(tarArchive(context)), {
    t: of.reference,
    rm: true,
    forcerm: true,
    ...(of.signal ? { abortSignal: of.signal } : {}),
  })
  await followEngine(engine, stream)
}

/** Writes one archive of all images, which contains shared layers only once. */
function archiveOf({ docker }: Engine, references: readonly string[]): Promise<NodeJS.ReadableStream> {
  const names = references.map((name) => `names=${encodeURIComponent(name)}`).join('&')
  return new Promise((resolve, reject) => {
    docker.modem.dial(
      {
        // The client library encodes lists in a form that the engine does not accept, and drops the last character of
        // a path without options.
        path: `/images/get?${names}&`,
        method: 'GET',
        isStream: true,
        statusCodes: { 200: true, 404: 'no such image', 500: 'server error' },
      },
      (error: unknown, stream: unknown) => {
        if (error) reject(error instanceof Error ? error : new Error(reasonOf(error)))
        else if (stream instanceof Readable) resolve(stream)
        else reject(new TypeError('the engine gave no archive'))
      },
    )
  })
}
