import { browserServicePort } from '@flotilla/protocol/browser-service-api'
import type { Log } from '@flotilla/foundation/platform'
import type { BrowserContainers } from '../browser-containers.ts'
import { ensureBrowserImage } from '../image/browser-image.ts'
import type { BrowserImageOptions } from '../image/browser-image.ts'
import { checkIsolation } from '../isolation/check-isolation.ts'
import type { PrivateNetwork } from '../network/hold-bridge.ts'
import { ensurePrivateNetwork } from '../network/private-network.ts'
import { reasonOf, SandboxError } from '../sandbox-error.ts'
import type { BesideAgents } from '../sandbox-runtime.ts'
import { besideAgents, homeTag } from '../sandbox-spec.ts'
import type { LimitedVolumes } from '../volume/limited-volumes.ts'
import { inspectedOf, removeContainer } from './agent-container.ts'
import type { PreparedEngine } from './agent-container.ts'
import { openAgentVolume } from './agent-volume.ts'
import { browserContainerOptions, browserName, browserVolumeName } from './browser-container.ts'
import { labelKeys, volumeLabels } from '../hardening/container-options.ts'
import { logText } from '../engine/log-text.ts'
import { listSchema } from './container-state.ts'
import { engineDialect } from '../engine/engine-dialect.ts'
import { unlessStatus } from './unless-status.ts'

/** How much of the last output of an ended browser container is kept, in characters. */
const lastWordsMaxChars = 300

export interface DockerBrowsersOptions extends Omit<BrowserImageOptions, 'engine' | 'progress' | 'signal'> {
  readonly proxyPort: number
  /** Ports of the agent API on the agents' gateway, which browsers cannot reach. */
  readonly meshPorts: readonly number[]
  readonly log: Log
  readonly prepared: () => PreparedEngine
  /** Volumes of browser profiles, in a separate folder from agents' volumes. */
  readonly volumes: LimitedVolumes
}

/** ADAPTER of `browser-containers.ts`: one hardened container per browser, on a bridge that only browsers are on. */
export function createDockerBrowsers(
  options: DockerBrowsersOptions,
): BrowserContainers & { beside(): readonly BesideAgents[] } {
  const { homeId, prepared, volumes } = options
  const tag = homeTag(homeId)
  let ready: { readonly network: PrivateNetwork; readonly image: string; readonly seccomp: string } | null =
    null
  /** Agents whose browsers this process started and did not see end. */
  const running = new Set<string>()
  const nameOf = (agentId: string) => browserName(homeId, agentId)

  function made() {
    if (ready) return ready
    throw new SandboxError(
      'not-prepared',
      'The network of browsers is not prepared yet.\nRepair: restart the mesh with flotilla stop and flotilla start -d.',
    )
  }

  return {
    beside: () =>
      [...running].map((agentId) => ({
        name: `the browser of ${agentId}`,
        memoryBytes: besideAgents.browser,
      })),

    async prepare(signal) {
      const { engine, dialect, ground } = prepared()
      const image = await ensureBrowserImage({
        ...options,
        engine,
        progress: (step, failed) =>
          options.log.info({ step, ...(failed && { failed }) }, 'building the browser image'),
        signal,
      })
      const worker = { engine, image: ground.image, uid: options.uid, homeTag: tag }
      const network = await ensurePrivateNetwork(worker, {
        of: 'browsers',
        meshPorts: [options.proxyPort],
        holdsBridge: dialect.holdsBridge,
        signal,
      })
      const { seccomp } = await engineDialect(engine, options.recipeDirectory)
      ready = { network, image: image.id, seccomp }
    },

    proxyPlace: () => ({ host: made().network.gateway, port: options.proxyPort }),

    async checkWalls(signal) {
      const { engine, ground } = prepared()
      const { network } = made()
      // Probes with the agents' image: this check tests the network and not the additions of a browser's container.
      return checkIsolation(engine, {
        ground: { ...ground, network },
        homeTag: tag,
        meshPort: options.proxyPort,
        agents: { ground, meshPorts: options.meshPorts },
        behind: { rung: 'container' },
        clock: options.clock,
        signal,
      })
    },

    async start(spec) {
      const { engine, ground, bound } = prepared()
      const { network, image, seccomp } = made()
      const { agentId, profileLimitBytes } = spec
      running.add(agentId)
      await removeContainer(engine, nameOf(agentId))
      const volume = await openAgentVolume(engine, volumes, {
        homeId,
        spec: { agentId, dataLimitBytes: profileLimitBytes },
        bound,
        as: {
          name: browserVolumeName(homeId, agentId),
          labels: { ...volumeLabels(homeId, agentId), [labelKeys.role]: 'browser-profile' },
        },
      })
      try {
        const container = await engine.docker.createContainer(
          browserContainerOptions({ ...ground, image, network, seccomp }, spec),
        )
        await container.start()
        const inspected = await inspectedOf(engine, nameOf(agentId))
        // The container blocks the engine's name server itself; rules added from outside would make that step fail.
        const host = inspected?.NetworkSettings.Networks?.[network.name]?.IPAddress
        // A container that ended at once has no address; the caller learns the reason when it waits for the browser
        // to answer.
        return { host: host ? host : network.gateway, port: browserServicePort }
      } catch (cause) {
        running.delete(agentId)
        await removeContainer(engine, nameOf(agentId)).catch(() => undefined)
        throw new SandboxError(
          'browser-start-failed',
          `The browser of ${agentId} could not be started: ${reasonOf(cause)}\nRepair: run \`flotilla doctor\`, then try again.`,
          { cause },
        )
      } finally {
        await volume.release()
      }
    },

    async inspect(agentId) {
      const { engine } = prepared()
      const inspected = await inspectedOf(engine, nameOf(agentId))
      const isRunning = inspected?.State.Running === true
      if (!isRunning) running.delete(agentId)
      if (inspected === null) return null
      if (isRunning) return { running: true }
      const { ExitCode: code, OOMKilled } = inspected.State
      const raw = await engine.docker
        .getContainer(nameOf(agentId))
        .logs({ stdout: false, stderr: true, follow: false, tail: 5 })
        .catch(() => Buffer.alloc(0))
      const lastWords = logText(Buffer.from(raw)).trim().split('\n').at(-1) ?? ''
      return {
        running: false,
        exit: {
          code,
          outOfMemory: OOMKilled === true && code !== 0,
          lastWords: lastWords.slice(0, lastWordsMaxChars),
        },
      }
    },

    async stop(agentId) {
      await removeContainer(prepared().engine, nameOf(agentId))
      running.delete(agentId)
    },

    async removeProfile(agentId) {
      const { engine } = prepared()
      await removeContainer(engine, nameOf(agentId))
      running.delete(agentId)
      await engine.docker
        .getVolume(browserVolumeName(homeId, agentId))
        .remove()
        .catch(unlessStatus([404]))
      await volumes.remove(agentId)
    },

    async removeAll() {
      const { engine } = prepared()
      const label = [`${labelKeys.home}=${tag}`, `${labelKeys.role}=browser`]
      const found = listSchema.parse(await engine.docker.listContainers({ all: true, filters: { label } }))
      await Promise.all(found.map(({ Id }) => removeContainer(engine, Id)))
      running.clear()
    },
  }
}
