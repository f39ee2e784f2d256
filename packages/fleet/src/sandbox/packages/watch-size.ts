import type { Clock } from '@flotilla/protocol/clock'
import type Dockerode from 'dockerode'
import * as z from 'zod'
import type { Engine } from '../engine/connect-engine.ts'

/** The interval between two measurements of the container's files, in milliseconds. */
const sizeIntervalMs = 5_000

const sizesSchema = z.array(z.looseObject({ SizeRw: z.number().nullish() }))

/** Calls `end` once the container's files, without those of its image and its volumes, take more than `maxBytes`. */
export function watchSize(
  engine: { readonly docker: Pick<Engine['docker'], 'listContainers'> },
  container: Pick<Dockerode.Container, 'id'>,
  of: {
    readonly maxBytes: number
    readonly clock: Pick<Clock, 'sleep'>
    readonly signal: AbortSignal
    /** Removes the container, which ends its step. */
    readonly end: () => Promise<void>
  },
): {
  /** Returns whether the limit was exceeded. */
  isFull(): boolean
  /** Ends the watch. Idempotent. */
  end(): void
} {
  const { maxBytes, clock, signal, end } = of
  const ended = new AbortController()
  const over = AbortSignal.any([signal, ended.signal])
  let isFull = false

  /** Returns the size in bytes; null if the engine did not answer. The step itself reports that. */
  async function measured(): Promise<number | null> {
    try {
      const filters = { id: [container.id] }
      const [found] = sizesSchema.parse(
        await engine.docker.listContainers({ all: true, size: true, filters }),
      )
      return found?.SizeRw ?? 0
    } catch {
      return null
    }
  }

  async function watch(): Promise<void> {
    while (!over.aborted) {
      await clock.sleep(sizeIntervalMs, over)
      const bytes = await measured()
      if (bytes === null || bytes <= maxBytes) continue
      isFull = true
      return end()
    }
  }

  // Rejects when the watch ends during a pause, or when the container cannot be removed, which its owner tries again.
  watch().catch(() => undefined)
  return { isFull: () => isFull, end: () => ended.abort() }
}
