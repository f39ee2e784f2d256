import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { keyUsed } from './effect-table.ts'
import type { EffectKey } from './effect-table.ts'

/**
 * Calls that are under way and whose caller may be gone. A door bounds those that somebody waits for; these bound the
 * others as well, for one run (of which an agent has one at a time) and for all agents together.
 */
const perRunMax = 64
const totalMax = 1024
const retryAfterSeconds = 1

interface UnderWay extends EffectKey {
  readonly digest: string
  readonly result: Promise<unknown>
  readonly over: AbortController
}

/** What goes on although nobody may be waiting for it any more. */
export function createEffectsUnderWay(clock: Clock) {
  const all = new Map<string, UnderWay>()

  function requireRoom(runId: string): void {
    let ofRun = 0
    for (const one of all.values()) if (one.runId === runId) ofRun++
    if (ofRun < perRunMax && all.size < totalMax) return
    throw new Problem('rate-limited', {
      detail: `${ofRun < perRunMax ? totalMax : perRunMax} calls are under way; those whose caller went away are among them`,
      retryAfterSeconds,
    })
  }

  function refuseOther(call: EffectKey, digest: string): void {
    const first = all.get(idOf(call))
    if (first && first.digest !== digest) throw keyUsed()
  }

  return {
    refuseOther,
    /**
     * The first call's result for whoever asks while it is under way. Problems `conflict` for another request under its
     * key, `rate-limited` where too many are under way.
     */
    join<T>(call: EffectKey, digest: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
      const id = idOf(call)
      refuseOther(call, digest)
      const first = all.get(id)
      if (first) return first.result as Promise<T> // of the same call, by its digest
      requireRoom(call.runId)
      const over = new AbortController()
      // Begun in a turn of its own, so that the entry is there before the work is.
      const result = Promise.resolve()
        .then(() => work(over.signal))
        .finally(() => all.delete(id))
      // Whoever waited may be gone, and nobody else would hear it.
      result.catch(() => undefined)
      all.set(id, { ...call, digest, result, over })
      return result
    },
    /** Nobody can ask for an answer any more. */
    endRun(runId: string): void {
      for (const one of all.values()) {
        if (one.runId === runId) one.over.abort(new Problem('cancelled', { detail: 'the run is over' }))
      }
    },
    /** Resolves when nothing is under way. What is not through after `graceMs` is ended, and waited for as long again. */
    async close(graceMs: number): Promise<void> {
      const settled = (): Promise<unknown> =>
        Promise.allSettled([...all.values()].map(({ result }) => result))
      const within = async (): Promise<void> => {
        const timer = new AbortController()
        await Promise.race([settled(), clock.sleep(graceMs, timer.signal).catch(() => undefined)])
        timer.abort()
      }
      await within()
      for (const { over } of all.values()) {
        over.abort(new Problem('interrupted', { detail: 'the mesh is stopping' }))
      }
      await within()
    },
  }
}

function idOf({ runId, key }: EffectKey): string {
  return `${runId}\n${key}`
}
