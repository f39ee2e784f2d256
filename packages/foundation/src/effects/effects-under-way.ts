import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { createFairShare } from '../intake/index.ts'
import { keyUsed } from './effect-table.ts'
import type { EffectKey } from './effect-table.ts'
import { agentShareLimits } from '../intake/index.ts'

/** When an agent with too many calls in progress may retry, in seconds. */
const retryAfterSeconds = 1

/** A call with a key, and the agent whose share it counts against. */
export interface SharedCall extends EffectKey {
  readonly agentId: string
}

interface UnderWay extends SharedCall {
  readonly digest: string
  readonly result: Promise<unknown>
  readonly over: AbortController
}

/**
 * Tracks running calls, including those whose client has disconnected. The API limits calls with a waiting client;
 * this limit covers all of them, for each agent and in total.
 */
export function createEffectsUnderWay(clock: Clock) {
  const all = new Map<string, UnderWay>()
  const share = createFairShare(agentShareLimits.effectsUnderWay)

  function takeRoom(agentId: string): void {
    const full = share.take(agentId, 1)
    if (full === null) return
    const detail =
      full === 'agent'
        ? `${agentShareLimits.effectsUnderWay.perAgentMax} calls of this agent are in progress, the maximum for one agent; calls whose client has disconnected count too`
        : `the fleet has the maximum number of calls in progress, ${share.of(agentId)} of them of this agent; calls whose client has disconnected count too`
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
     * Returns the result of the first call to every caller while it runs. Problems `conflict` for another request
     * with the same key, `rate-limited` if too many are running.
     */
    join<T>(call: SharedCall, digest: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
      const id = idOf(call)
      refuseOther(call, digest)
      const first = all.get(id)
      if (first) return first.result as Promise<T> // of the same call, by its digest
      takeRoom(call.agentId)
      const over = new AbortController()
      // `work` starts in a later microtask, so that the entry in `all` exists before.
      const result = Promise.resolve()
        .then(() => work(over.signal))
        .finally(() => {
          all.delete(id)
          share.giveBack(call.agentId, 1)
        })
      // Prevents an unhandled rejection when all clients have disconnected.
      result.catch(() => undefined)
      all.set(id, { ...call, digest, result, over })
      return result
    },
    /** Aborts the calls of a run that has ended. */
    endRun(runId: string): void {
      for (const one of all.values()) {
        if (one.runId === runId) one.over.abort(new Problem('cancelled', { detail: 'the run has ended' }))
      }
    },
    /**
     * Resolves when nothing is running. Calls that take longer than `graceMs` are aborted, and awaited for that time
     * again.
     */
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
