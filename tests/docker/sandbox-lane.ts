import { randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noProxies } from '../../packages/foundation/src/config/proxy-environment.ts'
import { createDockerRuntime } from '../../packages/fleet/src/sandbox/docker/docker-runtime.ts'
import type { DockerRuntimeOptions } from '../../packages/fleet/src/sandbox/docker/docker-options.ts'
import type { Engine } from '../../packages/fleet/src/sandbox/engine/connect-engine.ts'
import { findEngine } from '../../packages/fleet/src/sandbox/engine/find-engine.ts'
import { removePrivateNetwork } from '../../packages/fleet/src/sandbox/network/private-network.ts'
import {
  aSpec,
  subjectHands,
  writeSubject,
} from '../../packages/fleet/src/sandbox/sandbox-runtime.conformance.ts'
import type { SandboxRuntime, SandboxState } from '../../packages/fleet/src/sandbox/sandbox-runtime.ts'
import { homeTag, sandboxName, type SandboxSpec } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { silentLog } from '../../packages/foundation/src/platform/log.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { imageCaches } from './image-caches.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const uid = process.getuid?.() ?? 0
const hints = {
  uid,
  engineSocket: process.env['FLOTILLA_ENGINE_SOCKET'],
  dockerHost: process.env['DOCKER_HOST'],
}

/**
 * Runs a suite that needs an engine. Without an engine it fails if `FLOTILLA_REQUIRE_ENGINE=1`; otherwise it is
 * skipped and reported as such by its name.
 */
export function withEngine(title: string, suite: (engine: Engine) => void, found: FoundEngine): void {
  const reason = found.engine ? '' : `no container engine answers (${found.tried.join('; ')})`
  // An error of the whole file, which a second run of the file replaces.
  if (!found.engine && process.env['FLOTILLA_REQUIRE_ENGINE'] === '1') throw new Error(reason)
  describe(`on a real engine: ${title}`, () => {
    if (found.engine) {
      suite(found.engine)
      return
    }
    process.stderr.write(`SKIPPED "${title}": ${reason}\n`)
    it('an engine answers', ({ skip }) => {
      skip(reason)
      expect.fail(reason)
    })
  })
}

export type FoundEngine = Awaited<ReturnType<typeof findEngine>>

/** Finds the engine; called once for each file, before its suites are collected. */
export function engineOfThisMachine(): Promise<FoundEngine> {
  return findEngine(hints)
}

export interface DockerHome {
  readonly engine: Engine
  readonly homeId: string
  readonly homeTag: string
  readonly runtime: SandboxRuntime
  readonly briefingDirectory: string
  readonly volumesFolder: string
  readonly specOf: (spec: Partial<SandboxSpec> & { readonly agentId: string }) => SandboxSpec
  /** Opens and prepares another runtime on the same home. */
  readonly again: (changes?: Partial<DockerRuntimeOptions>) => Promise<SandboxRuntime>
  /**
   * Starts an agent that runs the subject, waits until it answers, and then limits its CPU share, as the fleet
   * does.
   */
  readonly start: (spec: Partial<SandboxSpec> & { readonly agentId: string }) => Promise<SandboxState>
  /** Returns the CPU limit that the engine reports for an agent. */
  readonly shareOf: (agentId: string) => Promise<SandboxSpec['cpu']>
  /** Runs a shell command inside as the agent would. */
  readonly run: (
    state: SandboxState,
    command: string,
  ) => Promise<{ readonly code: number | string; readonly text: string }>
  readonly close: () => Promise<void>
}

/**
 * The subject lies at one path for all test files of this clone, because bundles are cached by the path of their
 * entry.
 */
async function subjectEntry(): Promise<string> {
  const folder = join(root, 'node_modules', '.cache', 'flotilla-subject')
  const fresh = join(folder, `${process.pid}`)
  await mkdir(fresh, { recursive: true })
  const entry = join(folder, 'subject.cjs')
  // The rename makes the file appear completely, since another test file may be reading it.
  await rename(await writeSubject(fresh), entry)
  await rm(fresh, { recursive: true })
  return entry
}

/** Where the homes of tests get packages: from the registries that this machine uses. */
export const packageSources: DockerRuntimeOptions['packages'] = {
  recipeDirectory: join(root, 'images', 'packages'),
  hostPlaces: { userFolder: homedir(), variables: process.env },
  proxies: noProxies,
}

/** Returns the image below the agent image of a prepared home: Debian without Node and without the agent. */
export async function baseImageOf({ docker }: Engine): Promise<string> {
  const images = await docker.listImages()
  const layersOf = async (kind: string) => {
    const named = images.filter(({ RepoTags }) =>
      RepoTags?.some((tag) => tag.startsWith(`localhost/flotilla/${kind}:`)),
    )
    return Promise.all(
      named.map(async ({ Id }) => ({
        id: Id,
        layers: (await docker.getImage(Id).inspect()).RootFS.Layers ?? [],
      })),
    )
  }
  const agents = await layersOf('agent')
  // Virtual machines have a base image of their own.
  const base = (await layersOf('base')).find(({ layers }) =>
    agents.some((agent) => layers.every((layer, at) => agent.layers[at] === layer)),
  )
  if (base === undefined) throw new Error('the engine has no base image of the agent image')
  return base.id
}

/** Opens a home of its own on the real engine; `close` removes everything that belongs to it. */
export async function openDockerHome(
  engine: Engine,
  changes: Partial<DockerRuntimeOptions> = {},
): Promise<DockerHome> {
  const directory = await mkdtemp(join(tmpdir(), 'flotilla-docker-'))
  const briefingDirectory = await mkdtemp(join(tmpdir(), 'flotilla-briefing-'))
  await chmod(briefingDirectory, 0o755)
  const homeId = `test-${randomBytes(6).toString('hex')}`
  const options: DockerRuntimeOptions = {
    homeId,
    ...hints,
    noInstall: true,
    stateDirectory: join(directory, 'engine'),
    cacheDirectory: imageCaches,
    recipeDirectory: join(root, 'images', 'agent'),
    machineRecipeDirectory: join(root, 'images', 'machine'),
    packages: packageSources,
    packageDirectory: root,
    agentEntry: await subjectEntry(),
    meshPorts: [8420, 8421],
    browser: {
      recipeDirectory: join(root, 'images', 'browser'),
      browserEntry: join(root, 'packages', 'browser', 'src', 'main.ts'),
      proxyPort: 8421,
    },
    volumesFolder: join(directory, 'volumes'),
    path: process.env['PATH'] ?? '',
    clock: systemClock,
    log: silentLog,
    ...changes,
  }
  const again = async (more: Partial<DockerRuntimeOptions> = {}) => {
    const runtime = createDockerRuntime({ ...options, ...more })
    await runtime.prepare({ progress: (step) => process.stderr.write(`${step}\n`) })
    return runtime
  }
  const runtime = await again()
  const specOf: DockerHome['specOf'] = (spec) =>
    aSpec({
      briefingDirectory,
      ...spec,
      environment: { FLOTILLA_AGENT_ID: spec.agentId, ...spec.environment },
    })
  const tag = homeTag(homeId)
  return {
    engine,
    homeId,
    homeTag: tag,
    runtime,
    briefingDirectory,
    volumesFolder: options.volumesFolder,
    specOf,
    again,
    shareOf: async (agentId) => {
      const { HostConfig } = await engine.docker.getContainer(sandboxName(homeId, agentId)).inspect()
      return { quotaUs: HostConfig.CpuQuota ?? 0, periodUs: HostConfig.CpuPeriod ?? 0 }
    },
    run: subjectHands.run,
    async start(spec) {
      const state = await runtime.start(specOf(spec))
      await subjectHands.answers(state)
      await runtime.endStartShare(spec.agentId)
      return state
    },
    async close() {
      for (const state of await runtime.list()) await runtime.remove(state.agentId, { data: true })
      await runtime.close()
      const images = await engine.docker.listImages({ filters: { reference: ['localhost/flotilla/agent'] } })
      const image = images.find((entry) => entry.RepoTags?.length)?.RepoTags?.[0] ?? ''
      await removePrivateNetwork({ engine, image, uid, homeTag: tag })
      await Promise.all(
        [directory, briefingDirectory].map((path) => rm(path, { recursive: true, force: true })),
      )
    },
  }
}

/** Opens a home before a suite and closes it after; call the getter inside tests. */
export function useDockerHome(engine: Engine, changes: Partial<DockerRuntimeOptions> = {}): () => DockerHome {
  let home: DockerHome | undefined
  beforeAll(async () => {
    home = await openDockerHome(engine, changes)
  })
  afterAll(async () => {
    await home?.close()
  })
  return () => {
    if (!home) throw new Error('the home is open only while tests run')
    return home
  }
}
