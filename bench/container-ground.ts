import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createMeshIdentity } from '../packages/fleet/src/agents/connection/mesh-identity.ts'
import type { MeshIdentity } from '../packages/fleet/src/agents/connection/mesh-identity.ts'
import type { ContainerGround } from '../packages/fleet/src/sandbox/hardening/container-options.ts'
import { engineDialect, limitsTmpfsFiles } from '../packages/fleet/src/sandbox/engine/engine-dialect.ts'
import { warmPageCache } from '../packages/fleet/src/sandbox/docker/warm-page-cache.ts'
import type { Engine } from '../packages/fleet/src/sandbox/engine/connect-engine.ts'
import { findEngine } from '../packages/fleet/src/sandbox/engine/find-engine.ts'
import { ensureAgentImage } from '../packages/fleet/src/sandbox/image/agent-image.ts'
import { bundleAgent } from '../packages/fleet/src/sandbox/image/bundle-agent.ts'
import {
  ensurePrivateNetwork,
  removePrivateNetwork,
} from '../packages/fleet/src/sandbox/network/private-network.ts'
import { homeTag } from '../packages/fleet/src/sandbox/sandbox-spec.ts'
import { systemClock } from '../packages/foundation/src/platform/system-clock.ts'
import type { BenchOptions } from './bench.ts'
import { makeStaticServer } from './static-server.ts'
import type { StaticServer } from './static-server.ts'

/** Engine, image, private network and profile, made by the same code that the mesh's own runtime uses. */
export interface BenchGround extends ContainerGround {
  readonly engine: Engine
  readonly identity: MeshIdentity
  readonly briefingDirectory: string
  readonly staticServer: StaticServer
  close(): Promise<void>
}

const root = join(import.meta.dirname, '..')
const uid = process.getuid?.() ?? -1

/**
 * Prepares the engine for a bench; rejects if no engine answers. Building a missing or outdated image takes a
 * while.
 */
export async function prepareGround({ folder, progress, signal }: BenchOptions): Promise<BenchGround> {
  const found = await findEngine({
    uid,
    engineSocket: process.env['FLOTILLA_ENGINE_SOCKET'],
    dockerHost: process.env['DOCKER_HOST'],
  })
  if (found.engine === null)
    throw new Error(`no container engine answers (${found.tried.join('; ')}); npm run demo sets one up`)
  const { engine } = found
  const cacheDirectory = join(root, 'node_modules', '.cache', 'flotilla')
  const recipeDirectory = join(root, 'images', 'agent')
  const homeId = `bench-${randomBytes(6).toString('hex')}`
  const briefingDirectory = join(folder, 'briefing')
  await mkdir(briefingDirectory)
  progress('bundling the agent and making its image ready')
  const bundle = await bundleAgent({
    entry: join(root, 'packages', 'agent', 'src', 'main.ts'),
    cacheDirectory,
  })
  const image = await ensureAgentImage({
    engine,
    recipeDirectory,
    packageDirectory: root,
    bundle: bundle.files,
    cacheDirectory,
    homeId,
    volumesFolder: join(folder, 'volumes'),
    noInstall: true,
    uid,
    clock: systemClock,
    progress,
    signal,
  })
  const tag = homeTag(homeId)
  const worker = { engine, image: image.reference, uid, homeTag: tag }
  const { holdsBridge, ...dialect } = await engineDialect(engine, recipeDirectory)
  progress('making a private network')
  const network = await ensurePrivateNetwork(worker, { meshPorts: [8420, 8421], holdsBridge, signal })
  try {
    progress('warming the page cache')
    await warmPageCache(engine, { image: image.reference, homeTag: tag, signal })
    return {
      ...dialect,
      limitsTmpfsFiles: limitsTmpfsFiles(engine),
      engine,
      homeId,
      image: image.reference,
      network,
      identity: createMeshIdentity({ secret: randomBytes(32).toString('hex'), clock: systemClock }),
      briefingDirectory,
      staticServer: await makeStaticServer(folder),
      close: () => removePrivateNetwork(worker),
    }
  } catch (error) {
    await removePrivateNetwork(worker)
    throw error
  }
}
