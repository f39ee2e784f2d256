import type { Log } from '@flotilla/foundation/platform'
import type { Engine } from '../engine/connect-engine.ts'
import { ensureAgentImage } from '../image/agent-image.ts'
import type { AgentImageOptions } from '../image/agent-image.ts'
import { bundleAgent } from '../image/bundle-agent.ts'
import { imageId } from '../image/known-images.ts'
import type { ReportStep } from '../report-step.ts'
import { SandboxError, sandboxWords, reasonOf } from '../sandbox-error.ts'

export interface RestoreImageOptions extends Omit<
  AgentImageOptions,
  'engine' | 'bundle' | 'progress' | 'signal'
> {
  readonly agentEntry: string
  readonly log: Pick<Log, 'info' | 'warn'>
}

/** Returns the id of the agent image; builds the image if the engine lacks it. Rejects with `SandboxError`. */
export type RestoreImage = (engine: Engine, image: string) => Promise<string>

/**
 * Rebuilds the agent image when it is missing. While no agent runs, no container uses the image, so a
 * cleanup of the engine removes it under a running mesh. Concurrent callers share one build.
 */
export function createRestoreImage(options: RestoreImageOptions, signal: AbortSignal): RestoreImage {
  let making: Promise<string> | null = null
  return async (engine, image) => {
    // If the engine does not answer, the next request to the engine reports that.
    if ((await imageId(engine, image).catch(() => image)) !== null) return image
    making ??= make(engine, options, signal).finally(() => {
      making = null
    })
    return making
  }
}

async function make(engine: Engine, options: RestoreImageOptions, signal: AbortSignal): Promise<string> {
  options.log.warn({}, 'the agent image is missing in the engine; building it again')
  try {
    const bundle = await bundleAgent({ entry: options.agentEntry, cacheDirectory: options.cacheDirectory })
    const progress: ReportStep = (step, failed) =>
      options.log.info(failed === undefined ? {} : { failed }, step)
    return (await ensureAgentImage({ ...options, engine, bundle: bundle.files, progress, signal })).id
  } catch (cause) {
    const known = cause instanceof SandboxError ? sandboxWords(cause) : null
    const repair = known?.repair ?? 'run `flotilla doctor`, then start the agent again.'
    throw new SandboxError(
      'agent-image-gone',
      `The agent image no longer exists in the container engine and could not be built again: ${known?.detail ?? reasonOf(cause)}\nRepair: ${repair}`,
      { cause },
    )
  }
}
