import { rm } from 'node:fs/promises'
import { ensureEngine } from '../engine/ensure-engine.ts'
import type { Engine } from '../engine/connect-engine.ts'
import { findEngine } from '../engine/find-engine.ts'
import { ensureAgentImage } from '../image/agent-image.ts'
import { bundleAgent } from '../image/bundle-agent.ts'
import { closeNameServer, nameServerState } from '../network/close-name-server.ts'
import { ensurePrivateNetwork } from '../network/private-network.ts'
import type { ReportStep } from '../report-step.ts'
import { findVolumePrograms } from '../volume/volume-facts.ts'
import { registriesFolderOf } from '../packages/fetch-packages.ts'
import { removeUnfinishedDownloads } from '../packages/download-volumes.ts'
import { removeUnfinishedImages } from '../packages/unfinished-images.ts'
import { removeContainer } from './agent-container.ts'
import type { PreparedEngine } from './agent-container.ts'
import { releaseHeld } from './container-data.ts'
import { preparedEngine, startBounds } from './docker-home.ts'
import type { DockerHome } from './docker-home.ts'
import { engineDialect, limitsTmpfsFiles } from '../engine/engine-dialect.ts'
import { eraseHome } from './erase-home.ts'
import { followEngine } from './follow-engine.ts'
import { leftovers, renameContainers } from './list-containers.ts'
import { tryVolumes } from './try-volumes.ts'
import { warmPageCache } from './warm-page-cache.ts'

interface Preparing {
  readonly progress: ReportStep
  readonly signal?: AbortSignal | undefined
}

/**
 * Prepares an engine with the agents' image and network. The first call also cleans up after earlier mesh
 * processes.
 */
export async function prepareHome(home: DockerHome, preparing: Preparing): Promise<void> {
  const isFirst = home.ready === null
  home.ready = await prepareEngine(home, preparing)
  if (!isFirst) return
  await takeOver(home, home.ready)
  await boundVolumes(home, home.ready, preparing.signal)
  await followEngine(home)
}

async function prepareEngine(
  { options, tag, volumes, rungs, ready }: DockerHome,
  { progress, signal }: Preparing,
): Promise<PreparedEngine> {
  const [engine, bundle] = await Promise.all([
    ensureEngine({ ...options, progress, signal }),
    bundleAgent({ entry: options.agentEntry, cacheDirectory: options.cacheDirectory }),
  ])
  const image = await ensureAgentImage({ ...options, engine, bundle: bundle.files, progress, signal })
  const worker = { engine, image: image.id, uid: options.uid, homeTag: tag }
  const dialect = await engineDialect(engine, options.recipeDirectory)
  const { holdsBridge, seccomp, ulimits, sysctls, logOptions } = dialect
  const { homeId, meshPorts } = options
  const network = await ensurePrivateNetwork(worker, { meshPorts, holdsBridge, signal })
  const ground = {
    homeId,
    image: image.id,
    network,
    seccomp,
    ulimits,
    sysctls,
    logOptions,
    limitsTmpfsFiles: limitsTmpfsFiles(engine),
  }
  const bound = ready?.bound ?? { kind: 'meter', why: 'volumes were not tested yet' }
  const closeNames = await nameCloser({ options }, engine)
  return { engine, dialect, network, ground, bound, volumes, rungs, closeNames }
}

/** Returns the function that blocks the engine's name server in a running container, if that is possible. */
async function nameCloser(
  { options }: Pick<DockerHome, 'options'>,
  engine: Engine,
): Promise<PreparedEngine['closeNames']> {
  const names = await nameServerState(engine, options.uid)
  return async (networkFile) => {
    const why = names.kind === 'shut' ? await closeNameServer(networkFile) : null
    if (why !== null)
      options.log.warn(
        { why },
        'failed to block the engine’s name server; containers can resolve names of other containers',
      )
  }
}

async function takeOver(home: DockerHome, { engine }: PreparedEngine): Promise<void> {
  const { options, tag, volumes, profiles } = home
  await renameContainers(engine, options.homeId, tag)
  home.starts = startBounds(options, engine.cpus)
  for (const id of await leftovers(engine, tag)) await removeContainer(engine, id, { volumes: true })
  await removeUnfinishedImages(engine, tag)
  await removeUnfinishedDownloads(engine, tag)
  await rm(registriesFolderOf(options), { recursive: true, force: true })
  await releaseHeld(engine, tag)
  home.found.programs = await findVolumePrograms(options.path)
  if (options.uid === 0) await Promise.all([volumes.sweep(), profiles.sweep()])
}

/** Finds out whether this machine can limit the size of volumes, and reports to the owner if not. */
async function boundVolumes(
  home: DockerHome,
  { engine, ground }: PreparedEngine,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { options, tag, volumes, found } = home
  const { programs } = found
  const bound = await tryVolumes(engine, { uid: options.uid, programs, volumes, ground, signal })
  home.ready = { ...preparedEngine(home), bound }
  if (bound.kind !== 'meter') return
  options.log.warn(
    { why: bound.why },
    'volumes with a size limit are unavailable; agents’ data is measured and an agent above its limit is stopped',
  )
  await warmPageCache(engine, { image: ground.image, homeTag: tag, signal })
}

/** Deletes everything that a home has in the engine. */
export async function eraseDockerHome(home: DockerHome, { progress, signal }: Preparing): Promise<void> {
  const { options } = home
  const { engine } = await findEngine(options)
  signal?.throwIfAborted()
  if (engine === null)
    progress('No container engine answers, so there are no containers of this home to remove')
  else {
    home.ends.running.clear()
    progress('Removing containers, their data and their network')
    await eraseHome(engine, { homeTag: home.tag, uid: options.uid })
  }
  home.found.programs = await findVolumePrograms(options.path)
  await home.profiles.erase()
  await home.volumes.erase()
  home.ready = null
}
