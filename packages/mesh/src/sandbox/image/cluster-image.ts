import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ensureEngine } from '../engine/ensure-engine.ts'
import { clusterRecipe } from '../kubernetes/agent-objects.ts'
import { SandboxError } from '../sandbox-error.ts'
import { tarArchive, tarFile } from '../tar-archive.ts'
import { ensureAgentImage } from './agent-image.ts'
import type { AgentImageOptions } from './agent-image.ts'
import { bundleAgent } from './bundle-agent.ts'
import { followEngine } from './engine-images.ts'
import { ofRoot } from './ensure-image.ts'

export interface ClusterImageOptions extends Omit<AgentImageOptions, 'engine' | 'bundle'> {
  readonly agentEntry: string
  readonly engineSocket: string | undefined
  readonly dockerHost: string | undefined
  readonly stateDirectory: string
  /** What nodes shall know it by. */
  readonly reference: string
  /** Becomes an archive as every container runtime loads it; must not be there. */
  readonly file: string
}

/** Makes the agent image as pods want it, and writes it out. Nothing of it stays in the engine but what it was made of. */
export async function writeClusterImage(
  options: ClusterImageOptions,
): Promise<{ readonly architecture: string }> {
  const { reference, file, progress } = options
  const [engine, bundle] = await Promise.all([
    ensureEngine({ ...options, signal: options.signal }),
    bundleAgent({ entry: options.agentEntry, cacheDirectory: options.cacheDirectory }),
  ])
  const agent = await ensureAgentImage({ ...options, engine, bundle: bundle.files })
  progress(`Writing ${reference} into ${file}`)
  const recipe = tarFile('Dockerfile', Buffer.from(clusterRecipe(agent.id)), ofRoot)
  const stream = await engine.docker.buildImage(Readable.from(tarArchive([recipe])), {
    t: reference,
    rm: true,
    forcerm: true,
    ...(options.signal ? { abortSignal: options.signal } : {}),
  })
  await followEngine(engine, stream)
  const half = `${file}.part`
  try {
    await pipeline(await engine.docker.getImage(reference).get(), createWriteStream(half, { flags: 'wx' }), {
      signal: options.signal,
    })
    await rename(half, file)
  } catch (cause) {
    await rm(half, { force: true })
    throw new SandboxError(
      'image-not-written',
      `The image was made and could not be written to ${file}: ${cause instanceof Error ? cause.message : String(cause)}\nRepair: name a file in a folder with some gigabyte of room.`,
      { cause },
    )
  } finally {
    await engine.docker.getImage(reference).remove()
  }
  return { architecture: engine.architecture }
}
