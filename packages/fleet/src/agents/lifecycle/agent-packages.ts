import { join } from 'node:path'
import { isWithoutPackages, joinPackages } from '@flotilla/protocol/agent-packages'
import type { JoinedPackages } from '@flotilla/protocol/agent-packages'
import { Problem } from '@flotilla/protocol/problem'
import { readJsonDocument, readTextFile, writeFileAtomically } from '@flotilla/foundation/config'
import type { FleetKernel } from '../../events/index.ts'
import {
  lockDigest,
  packageLockSchema,
  packagesBom,
  packagesKey,
  reasonOf,
  SandboxError,
  sandboxWords,
} from '../../sandbox/index.ts'
import type { PackageImage, PackageLock, SandboxRuntime } from '../../sandbox/index.ts'

/** The packages in the images of agents: which each agent needs, their locks, and the images that contain them. */
export interface AgentPackages {
  /** Returns the packages of an agent: those of the owner's list, and those that modules need. */
  listOf(agentId: string): JoinedPackages
  /** Returns a digest of the agent's list; empty without packages. Agents with equal digests share an image. */
  keyOf(agentId: string): string
  /**
   * Returns the id of the agent's image, which is built now if needed; null for the agent image. Concurrent callers
   * with equal lists share one build. Problem `packages-unavailable`.
   */
  imageOf(agentId: string): Promise<string | null>
  /**
   * Begins to choose the newest versions for the agent's list, to build the image and to replace the lock. Agents with
   * this list use the image from their next run on. Problem `conflict` for an agent without packages.
   */
  beginRebuild(agentId: string): void
  /** Returns the stored lock of a list; null if the list was never resolved. */
  lockOf(key: string): Promise<PackageLock | null>
  lockFileOf(key: string): string
  /** Returns the state of the last build of a list since the mesh started. */
  stateOf(key: string): BuildState
}

export interface BuildState {
  readonly state: 'none' | 'building' | 'ready' | 'failed' | 'unavailable'
  /** Why the last build failed, or why there can be none; empty otherwise. */
  readonly detail: string
}

export interface AgentPackagesDeps extends Pick<FleetKernel, 'fleetEvents' | 'log'> {
  readonly runtime: Pick<SandboxRuntime, 'packages' | 'kind' | 'isolates'>
  /** The folder of lock files, one for each list of packages. */
  readonly locksFolder: string
  /** Called after the image of a list was built anew. */
  readonly onRebuilt: (key: string) => void
}

export function createAgentPackages(deps: AgentPackagesDeps): AgentPackages {
  const underWay = new Map<string, Promise<PackageImage>>()
  const ended = new Map<string, BuildState>()
  const listOf = (agentId: string): JoinedPackages => joinPackages(deps.fleetEvents.packageLists.ask(agentId))
  const keyOf = (agentId: string): string => {
    const list = listOf(agentId)
    return isWithoutPackages(list) ? '' : packagesKey(list)
  }
  const fileOf = (key: string): string => join(deps.locksFolder, `${key}.lock.json`)

  async function lockOf(key: string): Promise<PackageLock | null> {
    const text = await readTextFile(fileOf(key))
    if (text === null) return null
    const reading = readJsonDocument(text, packageLockSchema)
    if (reading.ok) return reading.document.value
    throw unavailable(
      `the lock file ${fileOf(key)} is invalid at line ${reading.line}: ${reading.reason}`,
      'Restore the file from a backup, or delete it: the next start chooses the newest versions and writes another.',
    )
  }

  async function build(list: JoinedPackages, { renew }: { readonly renew: boolean }) {
    const { packages } = deps.runtime
    if (packages === null) throw cannotBuild(deps.runtime)
    const key = packagesKey(list)
    const lock = renew ? null : await lockOf(key)
    const made = await packages
      .ensure(list, {
        lock,
        progress: (step, failed) => deps.log.info(failed === undefined ? {} : { failed }, step),
      })
      .catch((error: unknown) => {
        throw asProblem(error)
      })
    if (lock === null || lockDigest(lock) !== lockDigest(made.lock))
      await writeFileAtomically(fileOf(key), `${JSON.stringify(made.lock, null, 2)}\n`)
    if (made.installed !== null) {
      const text = JSON.stringify(packagesBom(made.lock, made.installed), null, 2)
      await writeFileAtomically(join(deps.locksFolder, `${key}.sbom.json`), `${text}\n`)
    }
    if (renew) deps.onRebuilt(key)
    return made
  }

  function shared(list: JoinedPackages, how: { readonly renew: boolean }) {
    const key = packagesKey(list)
    const known = underWay.get(key)
    if (known !== undefined && !how.renew) return known
    // A rebuild waits for a build with the old lock, so that both never write the lock file at once.
    const done = (known?.catch(() => undefined) ?? Promise.resolve())
      .then(() => build(list, how))
      .then(
        (made) => {
          ended.set(key, { state: 'ready', detail: '' })
          return made
        },
        (error: unknown) => {
          ended.set(key, {
            state: 'failed',
            detail: error instanceof Problem ? error.detail : reasonOf(error),
          })
          throw error
        },
      )
      .finally(() => {
        if (underWay.get(key) === done) underWay.delete(key)
      })
    underWay.set(key, done)
    return done
  }

  return {
    listOf,
    keyOf,
    lockOf,
    imageOf: async (agentId) => {
      const list = listOf(agentId)
      // Plain processes use the programs of this machine.
      if (isWithoutPackages(list) || !deps.runtime.isolates) return null
      return (await shared(list, { renew: false })).id
    },
    lockFileOf: fileOf,
    stateOf: (key) =>
      deps.runtime.packages === null
        ? { state: 'unavailable', detail: lackWords(deps.runtime) }
        : underWay.has(key)
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
      shared(list, { renew: true }).catch((error: unknown) =>
        deps.log.warn(
          { agentId, err: error },
          'failed to build an image with packages again; agents keep the image of the stored lock',
        ),
      )
    },
  }
}

function lackWords({ kind, isolates }: Pick<SandboxRuntime, 'kind' | 'isolates'>): string {
  return isolates
    ? `the runtime ${kind} cannot build images with packages`
    : 'agents run as plain processes and use the programs of this machine'
}

function cannotBuild(runtime: Pick<SandboxRuntime, 'kind' | 'isolates'>): Problem {
  return unavailable(
    lackWords(runtime),
    'Run agents with packages in containers of this machine, or remove their packages from config/settings.json.',
  )
}

function asProblem(error: unknown): unknown {
  if (!(error instanceof SandboxError)) return error
  const { detail, repair } = sandboxWords(error)
  return unavailable(detail || reasonOf(error), repair)
}

function unavailable(detail: string, repair: string): Problem {
  return new Problem('packages-unavailable', { detail, repair })
}
