import type { MeshModule } from './mesh-module.ts'

/** What a part that is loaded by its first use contributes to the mesh; its routes exist before it is loaded. */
type LoadedPart = Pick<MeshModule, 'metrics' | 'begin' | 'run' | 'notices' | 'stop' | 'close'>

export interface FirstUse<Part extends LoadedPart> {
  /**
   * Returns the part and loads it if necessary. Concurrent callers share one load; after a failed one the next caller
   * loads again. Rejects once the module has stopped.
   */
  use(): Promise<Part>
  /** Returns the part; null before its first use. */
  loaded(): Part | null
  /** Passes each call on to the part. Before the first use there is nothing to measure, run or close. */
  readonly hooks: Required<LoadedPart>
}

/** Loads a part of a module with its first use, so that a fleet without it neither loads nor lists it. */
export function createFirstUse<Part extends LoadedPart>(load: () => Promise<Part>): FirstUse<Part> {
  const first = Promise.withResolvers<Part>()
  let part: Part | null = null
  let loading: Promise<Part> | null = null
  let hasStopped = false

  async function loadOnce(): Promise<Part> {
    try {
      part = await load()
      first.resolve(part)
      return part
    } catch (error) {
      loading = null
      throw error
    }
  }

  return {
    async use() {
      if (part !== null) return part
      if (hasStopped) throw new Error('the mesh stops')
      return (loading ??= loadOnce())
    },
    loaded: () => part,
    hooks: {
      metrics: () => part?.metrics?.() ?? [],
      begin: () => part?.begin?.(),
      run: async (signal) => {
        const aborted = Promise.withResolvers<null>()
        const onAbort = () => aborted.resolve(null)
        if (signal.aborted) onAbort()
        signal.addEventListener('abort', onAbort, { once: true })
        const used = await Promise.race([first.promise, aborted.promise])
        signal.removeEventListener('abort', onAbort)
        await used?.run?.(signal)
      },
      notices: () => part?.notices?.() ?? [],
      stop: async () => {
        hasStopped = true
        await loading?.catch(() => undefined)
        await part?.stop?.()
      },
      close: async () => part?.close?.(),
    },
  }
}
