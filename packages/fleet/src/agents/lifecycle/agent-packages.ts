import { isWithoutPackages, joinPackages } from '@flotilla/protocol/agent-packages'
import type { JoinedPackages, PackageList } from '@flotilla/protocol/agent-packages'
import { Problem } from '@flotilla/protocol/problem'
import type { FleetKernel } from '../../events/index.ts'
import { lockDigest, packagesKey } from '../../sandbox/index.ts'
import type {
  PackageImage,
  PackageLock,
  ReportStep,
  ResolvedPackages,
  ResolvePackages,
  SandboxRuntime,
} from '../../sandbox/index.ts'
import { createBuildFailures } from './build-failures.ts'
import { createOwnAgentImages } from './own-agent-images.ts'
import { createLockFiles } from './lock-files.ts'
import { createSharedBuilds } from './shared-builds.ts'

/** The images of agents: of the owner, or with the packages that each agent needs and their locks. */
export interface AgentPackages extends OwnImageUse, BuildStates {
  /** Returns the packages of an agent: those of the owner's list, and those that modules need. */
  listOf(agentId: string): JoinedPackages
  /**
   * Returns a digest of the agent's list, or a mark of the owner's image for it; empty for the agent image. Agents with
   * equal digests share an image.
   */
  keyOf(agentId: string): string
  /**
   * Returns the id of the agent's image, which is built now if needed, and the mark for `isOutdated`; the id is null for
   * the agent image. Concurrent callers with equal lists share one build, which ends with its last caller. While a list
   * is rebuilt, the image of its stored lock is returned. Problems `packages-unavailable`, and `packages-delayed` for a
   * reason that may pass.
   */
  imageOf(
    agentId: string,
    signal?: AbortSignal,
  ): Promise<{ readonly id: string | null; readonly mark: string }>
  /** Returns whether the agent's image, its list or its lock changed since a start with this mark. */
  isOutdated(agentId: string, mark: string): boolean
  /** Reads the locks of agents that the previous process started, for `isOutdated`. */
  readLocks(agentIds: readonly string[]): Promise<void>
  /**
   * Begins to choose the newest versions for the agent's list, to build the image and to replace the lock. Agents with
   * this list use the image from their next run on. Problem `conflict` for an agent without packages.
   */
  beginRebuild(agentId: string): void
  /** Returns the stored lock of a list; null if the list was never resolved. */
  lockOf(key: string): Promise<PackageLock | null>
  lockFileOf(key: string): string
  /** Returns the agent's list with more packages, as the mesh would build it. */
  listWith(agentId: string, more: PackageList): JoinedPackages
  /**
   * Returns the lock that a list has, or would get now; see `PackageImages`. Problems `packages-unavailable` and
   * `packages-delayed`.
   */
  resolve(list: JoinedPackages, limits: ResolvePackages): Promise<ResolvedPackages>
  /**
   * Builds the image with this lock and stores the lock of the list. Problem `conflict` if the list has another lock,
   * and the problems of `resolve`.
   */
  buildLocked(list: JoinedPackages, lock: PackageLock): Promise<void>
}

/** How far builds are. */
export interface BuildStates {
  /** Returns the state of the last build of a list since the mesh started. */
  stateOf(key: string): BuildState
  /** Returns the current step of the build of the agent's image; null if none is in progress. */
  stepOf(agentId: string): string | null
}

/** The images of owners, which get no packages. */
export interface OwnImageUse {
  /**
   * Makes an image of the owner fit for agents. Rejects with the reason of `signal` as soon as it aborts. Problems
   * `packages-unavailable` and `packages-delayed`.
   */
  ownImage(reference: string, signal?: AbortSignal): Promise<void>
  /** Returns whether the agent runs from an image of the owner. */
  hasOwnImage(agentId: string): boolean
}

export interface BuildState {
  readonly state: 'none' | 'building' | 'ready' | 'failed' | 'unavailable'
  /** Why the last build failed, or why there can be none; empty otherwise. */
  readonly detail: string
}

export interface AgentPackagesDeps extends Pick<FleetKernel, 'fleetEvents' | 'log' | 'clock'> {
  readonly runtime: Pick<SandboxRuntime, 'packages' | 'ownImages' | 'kind' | 'isolates'>
  /** Returns the image that the owner set for an agent or its root ancestor. */
  readonly imageSetting: (agentId: string) => string | undefined
  /** The folder of lock files, one for each list of packages. */
  readonly locksFolder: string
}

export function createAgentPackages(deps: AgentPackagesDeps): AgentPackages {
  const builds = createSharedBuilds<PackageImage>()
  const rebuilds = createSharedBuilds<PackageImage>()
  const failures = createBuildFailures(deps.clock)
  const locks = createLockFiles(deps.locksFolder)
  const ended = new Map<string, BuildState>()
  const steps = new Map<string, string>()
  const listOf = (agentId: string): JoinedPackages => joinPackages(deps.fleetEvents.packageLists.ask(agentId))
  const own = createOwnAgentImages({ ...deps, steps })
  const keyOf = (agentId: string): string => {
    const image = deps.imageSetting(agentId)
    if (image !== undefined) return own.keyOf(image)
    const list = listOf(agentId)
    return isWithoutPackages(list) ? '' : packagesKey(list)
  }

  /** Builds the image with the stored lock, or with the newest versions if there is no lock or it is renewed. */
  async function build(
    list: JoinedPackages,
    { renew, signal }: { readonly renew: boolean; readonly signal: AbortSignal },
  ): Promise<PackageImage> {
    const { packages } = deps.runtime
    if (packages === null) throw cannotBuild(deps.runtime)
    const key = packagesKey(list)
    try {
      const made = await failures.attempt(async () => {
        const lock = renew ? null : await locks.read(key)
        const progress: ReportStep = (step, failed) => {
          steps.set(key, step)
          deps.log.info(failed === undefined ? {} : { failed }, step)
        }
        return packages.ensure(list, { lock, progress, signal })
      }, signal)
      signal.throwIfAborted()
      await locks.keep(key, made, { renew })
      failures.succeeded(key)
      ended.set(key, { state: 'ready', detail: '' })
      return made
    } catch (error) {
      signal.throwIfAborted()
      const problem = failures.failed(key, error, { isRebuild: renew })
      ended.set(key, { state: 'failed', detail: problem.detail })
      throw problem
    } finally {
      steps.delete(key)
    }
  }

  async function imageFor(list: JoinedPackages, signal?: AbortSignal): Promise<PackageImage> {
    const key = packagesKey(list)
    // Without a stored lock, a start needs the result of the rebuild; otherwise the stored lock stays valid until its end.
    if (rebuilds.has(key) && (await locks.read(key)) === null)
      return rebuilds.join(key, (own) => build(list, { renew: true, signal: own }), signal)
    if (!builds.has(key)) failures.requireDue(key)
    return builds.join(key, (own) => build(list, { renew: false, signal: own }), signal)
  }

  return {
    listOf,
    keyOf,
    lockOf: locks.read,
    listWith: (agentId, more) => joinPackages([...deps.fleetEvents.packageLists.ask(agentId), more]),
    resolve: async (list, limits) => {
      const { packages } = deps.runtime
      if (packages === null) throw cannotBuild(deps.runtime)
      const lock = await locks.read(packagesKey(list))
      if (lock !== null) return { lock, files: filesOf(lock), registries: [] }
      try {
        return await packages.resolve(list, limits)
      } catch (error) {
        limits.signal?.throwIfAborted()
        throw failures.failed(packagesKey(list), error, { isRebuild: true })
      }
    },
    buildLocked: async (list, lock) => {
      const { packages } = deps.runtime
      if (packages === null) throw cannotBuild(deps.runtime)
      const key = packagesKey(list)
      const requireSame = async (): Promise<void> => {
        const stored = await locks.read(key)
        if (stored === null || lockDigest(stored) === lockDigest(lock)) return
        throw new Problem('conflict', {
          detail:
            'another lock of this list of packages was stored since the request; request the packages again',
        })
      }
      await requireSame()
      const progress: ReportStep = (step) => deps.log.info({}, step)
      const made = await packages.ensure(list, { lock, progress }).catch((error: unknown) => {
        throw failures.failed(key, error, { isRebuild: true })
      })
      await requireSame()
      await locks.keep(key, made, { renew: false })
      ended.set(key, { state: 'ready', detail: '' })
    },
    imageOf: async (agentId, signal) => {
      const list = listOf(agentId)
      const image = deps.imageSetting(agentId)
      if (image !== undefined) {
        if (!isWithoutPackages(list)) throw packagesOnOwnImage(agentId)
        return { id: await own.ensure(image, signal), mark: own.keyOf(image) }
      }
      if (isWithoutPackages(list)) return { id: null, mark: '' }
      // Plain processes use the programs of this machine.
      if (!deps.runtime.isolates) return { id: null, mark: packagesKey(list) }
      const { id, lock } = await imageFor(list, signal)
      return { id, mark: `${packagesKey(list)}/${lockDigest(lock)}` }
    },
    ownImage: async (reference, signal) => void (await own.ensure(reference, signal)),
    stepOf: (agentId) => steps.get(keyOf(agentId)) ?? null,
    hasOwnImage: (agentId) => deps.imageSetting(agentId) !== undefined,
    isOutdated: (agentId, mark) => {
      const [key = '', digest = ''] = mark.split('/')
      if (key !== keyOf(agentId)) return true
      const current = locks.digestOf(key)
      return digest !== '' && current !== null && current !== digest
    },
    readLocks: async (agentIds) => {
      for (const key of new Set(agentIds.map(keyOf))) {
        // An invalid lock file is reported by the next start of an agent that needs it.
        if (key !== '') await locks.read(key).catch(() => null)
      }
    },
    lockFileOf: locks.fileOf,
    stateOf: (key) =>
      deps.runtime.packages === null
        ? { state: 'unavailable', detail: lackWords(deps.runtime) }
        : builds.has(key) || rebuilds.has(key)
          ? { state: 'building', detail: '' }
          : (ended.get(key) ?? { state: 'none', detail: '' }),
    beginRebuild: (agentId) => {
      const list = listOf(agentId)
      if (isWithoutPackages(list))
        throw new Problem('conflict', {
          detail: `agent ${agentId} has no packages`,
          repair: `Name them with flotilla packages set ${agentId}.`,
        })
      if (deps.runtime.packages === null) throw cannotBuild(deps.runtime)
      const key = packagesKey(list)
      const renewed = rebuilds.join(key, async (own) => {
        // Without a lock, a start may be choosing versions now; both never write the lock file at once.
        await builds.idle(key)
        return build(list, { renew: true, signal: own })
      })
      renewed.catch((error: unknown) =>
        deps.log.warn(
          { agentId, err: error },
          'failed to build an image with packages again; agents keep the image of the stored lock',
        ),
      )
    },
  }
}

/** The files of a stored lock, whose sizes were not kept. */
function filesOf({ apt, pip, npm }: PackageLock): ResolvedPackages['files'] {
  const file = { bytes: null }
  return [
    ...apt.map((one) => ({ ...file, kind: 'apt' as const, ...named(one), digest: `sha256:${one.sha256}` })),
    ...pip.map((one) => ({ ...file, kind: 'pip' as const, ...named(one), digest: `sha256:${one.sha256}` })),
    ...npm.map((one) => ({ ...file, kind: 'npm' as const, ...named(one), digest: one.integrity })),
  ]
}

function named({ name, version }: { readonly name: string; readonly version: string }) {
  return { name, version }
}

function lackWords({ kind, isolates }: Pick<SandboxRuntime, 'kind' | 'isolates'>): string {
  return isolates
    ? `the runtime ${kind} cannot build images with packages`
    : 'agents run as plain processes and use the programs of this machine'
}

function packagesOnOwnImage(agentId: string): Problem {
  return unavailable(
    `agent ${agentId} has packages and an image of the owner, and packages are installed into the agent image only`,
    `Put the programs into the image, or remove agents.${agentId}.packages or agents.${agentId}.image from config/settings.json.`,
  )
}

function cannotBuild(runtime: Pick<SandboxRuntime, 'kind' | 'isolates'>): Problem {
  return unavailable(
    lackWords(runtime),
    'Run agents with packages in containers of this machine, or remove their packages from config/settings.json.',
  )
}

function unavailable(detail: string, repair: string): Problem {
  return new Problem('packages-unavailable', { detail, repair })
}
