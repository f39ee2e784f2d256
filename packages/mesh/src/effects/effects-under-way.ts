import type { Clock } from '@flotilla/protocol/clock'
import { agentShare } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { createFairShare } from '../intake/index.ts'
import { keyUsed } from './effect-table.ts'
import type { EffectKey } from './effect-table.ts'

const retryAfterSeconds = 1

/** A keyed call, and whose share it is charged to. */
export interface SharedCall extends EffectKey {
  readonly agentId: string
}

interface UnderWay extends SharedCall {
  readonly digest: string
  readonly result: Promise<unknown>
  readonly over: AbortController
}

/**
 * What goes on although nobody may be waiting for it any more. An API bounds the calls that somebody waits for; a share
 * bounds the others as well, for one agent and for all together.
 */
export function createEffectsUnderWay(clock: Clock) {
  const all = new Map<string, UnderWay>()
  const share = createFairShare(agentShare.effectsUnderWay)

  function takeRoom(agentId: string): void {
    const full = share.take(agentId, 1)
    if (full === null) return
    const detail =
      full === 'agent'
        ? `${agentShare.effectsUnderWay.perAgentMax} calls of this agent are under way, and one agent has no more at once; those whose caller went away are among them`
        : `other agents leave this one no room for a call more at this moment: it has ${share.of(agentId)} under way, those whose caller went away among them`
    throw new Problem('rate-limited', {
      detail: `${detail}; try again in a second`,
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
    join<T>(call: SharedCall, digest: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
      const id = idOf(call)
      refuseOther(call, digest)
      const first = all.get(id)
      if (first) return first.result as Promise<T> // of the same call, by its digest
      takeRoom(call.agentId)
      const over = new AbortController()
      // Begun in a turn of its own, so that the entry is there before the work is.
      const result = Promise.resolve()
        .then(() => work(over.signal))
        .finally(() => {
          all.delete(id)
          share.giveBack(call.agentId, 1)
        })
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
