import { createHash } from 'node:crypto'
import { Problem } from '@flotilla/protocol/problem'
import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/foundation/platform'
import type { SandboxRuntime } from '../../sandbox/index.ts'
import { createBuildFailures } from './build-failures.ts'
import { createSharedBuilds } from './shared-builds.ts'

/** The images that owners name for agents, made fit for them. */
export interface OwnAgentImages {
  /** Returns a mark of an image, for comparing; it has no `/`. */
  keyOf(reference: string): string
  /**
   * Returns the id of the image to start from; null where agents run as plain processes, which use no image. Concurrent
   * callers share one build. Problems `packages-unavailable`, and `packages-delayed` for a reason that may pass.
   */
  ensure(reference: string, signal?: AbortSignal): Promise<string | null>
}

export function createOwnAgentImages(deps: {
  readonly clock: Clock
  readonly log: Log
  readonly runtime: Pick<SandboxRuntime, 'ownImages' | 'kind' | 'isolates'>
  /** The current step of each build, by the mark of its image. */
  readonly steps: Map<string, string>
}): OwnAgentImages {
  const builds = createSharedBuilds<string>()
  const failures = createBuildFailures(deps.clock)

  const keyOf = (reference: string): string =>
    `own-${createHash('sha256').update(reference).digest('hex').slice(0, 16)}`

  async function build(reference: string, signal: AbortSignal): Promise<string> {
    const { ownImages, kind } = deps.runtime
    if (ownImages === null)
      throw new Problem('packages-unavailable', {
        detail: `the runtime ${kind} cannot use images of the owner`,
        repair:
          'Run the agent in a container of this machine, or remove its image from config/settings.json.',
      })
    try {
      const progress = (step: string): void => {
        deps.steps.set(keyOf(reference), step)
        deps.log.info({}, step)
      }
      const id = await ownImages.ensure(reference, { progress, signal })
      failures.succeeded(reference)
      return id
    } catch (error) {
      signal.throwIfAborted()
      throw failures.failed(reference, error, { isRebuild: false })
    } finally {
      deps.steps.delete(keyOf(reference))
    }
  }

  return {
    keyOf,
    ensure: async (reference, signal) => {
      if (!deps.runtime.isolates) return null
      if (!builds.has(reference)) failures.requireDue(reference)
      return builds.join(reference, (own) => build(reference, own), signal)
    },
  }
}
