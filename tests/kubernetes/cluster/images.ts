import { createHash } from 'node:crypto'
import { createWriteStream, globSync } from 'node:fs'
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import process from 'node:process'
import { clusterImage, meshImage } from '../../../packages/mesh/src/app/choose-cluster.ts'
import { findEngine } from '../../../packages/fleet/src/sandbox/engine/find-engine.ts'
import { ensureAgentImage } from '../../../packages/fleet/src/sandbox/image/agent-image.ts'
import { writeClusterImage } from '../../../packages/fleet/src/sandbox/image/cluster-image.ts'
import { bundleAgent } from '../../../packages/fleet/src/sandbox/image/bundle-agent.ts'
import { clusterRecipe } from '../../../packages/fleet/src/sandbox/image/cluster-image.ts'
import { writeSubject } from '../../../packages/fleet/src/sandbox/sandbox-runtime.conformance.ts'
import { systemClock } from '../../../packages/foundation/src/platform/system-clock.ts'
import { imageCaches } from '../../docker/image-caches.ts'
import { pauseImage } from './node-configuration.ts'
import { run } from './run.ts'

/** The agent image, with the subject of the conformance suite in place of the agent. */
export const subjectImage = 'flotilla.local/subject:1'
/** The image with agent and mesh, under the name that the manifests use. */
export const agentImage = clusterImage

export interface ImagesOptions {
  readonly cache: string
  /** Root folder of the repository. */
  readonly root: string
  readonly progress: (step: string) => void
}

/** Writes all images as archives into `cache`; the agent's is rebuilt each time, as `flotilla image` does. */
export async function makeImages(options: ImagesOptions): Promise<readonly string[]> {
  // One after the other, since both build on the engine and the second reuses what the first built.
  return [await makePause(options.cache), await makeSubject(options), await makeFleet(options)]
}

async function makePause(cache: string): Promise<string> {
  const source = join(import.meta.dirname, 'pause.c')
  const archive = join(cache, `pause-${digest(await readFile(source))}.tar`)
  return madeOnce(archive, async (target) => {
    const folder = await mkdtemp(join(tmpdir(), 'flotilla-pause-'))
    const at = (name: string) => join(folder, name)
    await run('cc', ['-Os', '-static', '-s', '-o', at('pause'), source])
    await run('tar', ['--owner=0', '--group=0', '-C', folder, '-cf', at('layer.tar'), 'pause'])
    const layer = createHash('sha256')
      .update(await readFile(at('layer.tar')))
      .digest('hex')
    await writeFile(
      at('config.json'),
      JSON.stringify({
        architecture: process.arch === 'x64' ? 'amd64' : process.arch,
        os: 'linux',
        config: { Entrypoint: ['/pause'] },
        rootfs: { type: 'layers', diff_ids: [`sha256:${layer}`] },
      }),
    )
    await writeFile(
      at('manifest.json'),
      JSON.stringify([{ Config: 'config.json', RepoTags: [pauseImage], Layers: ['layer.tar'] }]),
    )
    await run('tar', ['-C', folder, '-cf', target, 'manifest.json', 'config.json', 'layer.tar'])
    await rm(folder, { recursive: true })
  })
}

/** Builds the image of agent and mesh from the package, as a user who installed it does. */
async function makeFleet(options: ImagesOptions): Promise<string> {
  const { cache, progress } = options
  const packageDirectory = await packed(options)
  const file = join(cache, 'fleet.tar')
  await rm(file, { force: true })
  await writeClusterImage({
    reference: agentImage,
    meshReference: meshImage,
    file,
    agentEntry: join(packageDirectory, 'dist', 'package', 'agent', 'agent.cjs'),
    recipeDirectory: join(packageDirectory, 'images', 'agent'),
    packageDirectory,
    stateDirectory: join(cache, 'engine'),
    cacheDirectory: imageCaches,
    engineSocket: process.env['FLOTILLA_ENGINE_SOCKET'],
    dockerHost: process.env['DOCKER_HOST'],
    homeId: 'kubernetes-tests',
    volumesFolder: join(cache, 'volumes'),
    noInstall: true,
    uid: process.getuid?.() ?? 0,
    clock: systemClock,
    progress,
  })
  return file
}

/** Runs `npm pack` and unpacks the result; repeated only if a source has changed. */
async function packed({ cache, root, progress }: ImagesOptions): Promise<string> {
  const hash = createHash('sha256')
  const sources = [
    'packages/*/src/**',
    'images/**',
    'templates/**',
    'cassettes/**',
    'scripts/**',
    'package*.json',
  ]
  for (const name of globSync(sources, { cwd: root }).toSorted()) {
    const path = join(root, name)
    if ((await stat(path)).isFile()) hash.update(`${name}\n`).update(await readFile(path))
  }
  const home = join(cache, `package-${hash.digest('hex').slice(0, 16)}`)
  await madeOnce(home, async (target) => {
    progress('packing the package')
    await rm(target, { recursive: true, force: true })
    await mkdir(target, { recursive: true })
    await run('npm', ['pack', '--silent', '--pack-destination', target], { cwd: root })
    const [archive = ''] = await readdir(target)
    await run('tar', ['-xzf', join(target, archive), '-C', target])
    await rm(join(target, archive))
  })
  return join(home, 'package')
}

async function makeSubject({ cache, root, progress }: ImagesOptions): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-subject-'))
  const uid = process.getuid?.() ?? 0
  const found = await findEngine({
    uid,
    dockerHost: process.env['DOCKER_HOST'],
    engineSocket: process.env['FLOTILLA_ENGINE_SOCKET'],
  })
  if (!found.engine) throw new Error(`the agent's image wants a container engine: ${found.tried.join('; ')}`)
  const { engine } = found
  const agent = await ensureAgentImage({
    engine,
    recipeDirectory: join(root, 'images', 'agent'),
    packageDirectory: root,
    cacheDirectory: imageCaches,
    homeId: 'kubernetes-tests',
    volumesFolder: join(folder, 'volumes'),
    noInstall: true,
    uid,
    clock: systemClock,
    progress,
    bundle: (await bundleAgent({ entry: await writeSubject(folder), cacheDirectory: join(folder, 'bundle') }))
      .files,
  })
  await rm(folder, { recursive: true })
  return madeOnce(join(cache, `subject-${digest(agent.id)}.tar`), async (target) => {
    await run('docker', ['build', '--quiet', '--tag', subjectImage, '-'], { input: clusterRecipe(agent.id) })
    await pipeline(await engine.docker.getImage(subjectImage).get(), createWriteStream(target))
    await engine.docker.getImage(subjectImage).remove()
  })
}

/** Makes the file under another name and renames it once it is complete. */
async function madeOnce(path: string, make: (target: string) => Promise<void>): Promise<string> {
  const isThere = await access(path).then(
    () => true,
    () => false,
  )
  if (isThere) return path
  await mkdir(join(path, '..'), { recursive: true })
  await make(`${path}.part`)
  await rename(`${path}.part`, path)
  return path
}

const digest = (content: string | Uint8Array): string =>
  createHash('sha256').update(content).digest('hex').slice(0, 16)
