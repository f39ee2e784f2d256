import { inspectContainer } from './agent-container.ts'
import { endStartShare, listAgents, nameOf, removeAgent, startAgent, stopAgent } from './agent-life.ts'
import { readContainerData, writeContainerData } from './container-data.ts'
import { createDockerBrowsers } from './docker-browsers.ts'
import { engineWithImage, makeDockerHome, preparedEngine } from './docker-home.ts'
import type { DockerRuntimeOptions } from './docker-options.ts'
import { measureContainers } from './measure-containers.ts'
import { measureVolumes } from './measure-volumes.ts'
import { eraseDockerHome, prepareHome } from './prepare-home.ts'
import { readLogs } from './read-logs.ts'
import { createOwnImages } from '../own/create-own-images.ts'
import { createPackageImages } from '../packages/create-package-images.ts'
import { checkIsolation } from '../isolation/check-isolation.ts'
import { engineNetworks } from '../network/private-network.ts'
import type { SandboxRuntime } from '../sandbox-runtime.ts'

/** ADAPTER of `sandbox-runtime.ts`: one hardened container per agent, through the API of Docker or Podman. */
export function createDockerRuntime(options: DockerRuntimeOptions): SandboxRuntime {
  const home = makeDockerHome(options)
  const { tag, ends, link } = home
  const prepared = () => preparedEngine(home)
  const packages = createPackageImages(options, {
    base: async () => {
      const { engine, ground } = await engineWithImage(home)
      return { engine, image: ground.image }
    },
    closing: home.closing.signal,
  })
  const browsers = createDockerBrowsers({ ...options, ...options.browser, prepared, volumes: home.profiles })
  const ownImages = createOwnImages(options, {
    prepared: () => engineWithImage(home),
    tag,
    closing: home.closing.signal,
  })
  return {
    kind: 'docker',
    isolates: true,
    crossesMachines: false,
    browsers,
    packages,
    ownImages,
    listenHost: () => prepared().network.gateway,
    meshAddress: () => prepared().network.gateway,
    capacity: () => ({ memoryBytes: prepared().engine.memoryBytes, cpus: prepared().engine.cpus }),
    beside: () => [...packages.beside(), ...browsers.beside()],
    networks: () => engineNetworks(prepared().engine, tag),
    prepare: (preparing) => prepareHome(home, preparing),
    tryRung: async (rung, progress) => home.rungs.tryIt(rung, await engineWithImage(home), progress),
    async checkIsolation({ meshPort, rung = 'container', signal }) {
      const to = await engineWithImage(home)
      const behind = await home.rungs.behind(rung, to)
      const { clock } = options
      return checkIsolation(to.engine, { ground: to.ground, homeTag: tag, meshPort, clock, behind, signal })
    },
    start: (spec) => startAgent(home, spec),
    endStartShare: (agentId) => endStartShare(home, agentId),
    stop: (agentId, { graceMs }) => stopAgent(home, agentId, graceMs),
    remove: (agentId, how) => removeAgent(home, agentId, how),
    inspect: async (agentId) => inspectContainer(prepared(), nameOf(home, agentId)),
    list: () => listAgents(home),
    logs: async (agentId, maxBytes) => readLogs(prepared().engine, nameOf(home, agentId), maxBytes),
    measureUse: async (agentIds) => measureContainers(prepared().engine, options.homeId, agentIds),
    dataBound: () => prepared().bound,
    async measureData(agentIds) {
      const { engine, ground } = await engineWithImage(home)
      return measureVolumes(engine, { homeId: options.homeId, homeTag: tag, image: ground.image }, agentIds)
    },
    readData: async (agentId, data) =>
      readContainerData(await engineWithImage(home), { ...options, ...data, homeTag: tag, agentId }),
    writeData: async (agentId, tar, data) =>
      writeContainerData(await engineWithImage(home), { ...options, ...data, homeTag: tag, agentId }, tar),
    onEngineBack(listener) {
      link.backListeners.add(listener)
      return () => link.backListeners.delete(listener)
    },
    onEnd(listener) {
      ends.listeners.add(listener)
      return () => ends.listeners.delete(listener)
    },
    erase: (preparing) => eraseDockerHome(home, preparing),
    async close() {
      home.closing.abort()
      await Promise.all([packages.idle(), ownImages.idle()])
      await home.starts.shares.close()
      await link.watching
    },
  }
}
