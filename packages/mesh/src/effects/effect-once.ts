import { createHash } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Database, Resumable } from '../storage/index.ts'
import { keepingRefusals } from '../storage/index.ts'
import { createEffectTable, keyUsed } from './effect-table.ts'
import type { EffectRow } from './effect-table.ts'
import { createEffectsUnderWay } from './effects-under-way.ts'

/**
 * Answers kept for one run, bytes: far above what its rounds can ask for. The disk is everybody's, and one agent that
 * repeats a call with ever new keys would fill it.
 */
const repliesMaxBytes = 64 * 1024 * 1024

export interface EffectCall {
  readonly agentId: string
  readonly runId: string
  /** `<run>:<step>` as the agent sends it. */
  readonly key: string
  readonly request: unknown
}

/** An effect in files or containers, as work that takes it up again sees it. */
export type EffectStep<Answer> = Resumable<Answer>

/** What work whose effect leaves the mesh is given. */
export interface OutsideLine {
  /**
   * To be called right before the first byte may leave; again it changes nothing. From then on the call may have had
   * its effect, and is not made again whatever happens. What it throws must end the work.
   */
  readonly dispatching: () => void
  /** Aborts when the run is over or the mesh stops. That whoever asked went away ends nothing. */
  readonly signal: AbortSignal
}

/**
 * Does the work of a keyed call once: a repeat with the same key gets the first answer, also while the first is
 * under way and after a restart. The same key with another request is a `conflict`. What was refused before it had an
 * effect may be sent again. `unprocessable` once the answers of the run fill their room.
 *
 * - `local`: effect and answer are rows of one transaction. Whatever happens, both are there or neither.
 * - `resumable`: a file or a container takes part. The row stands before it, with what finds the effect again; a repeat
 *   goes on from there.
 * - `outside`: bytes leave the mesh. The row stands before they do and stays; a call without an answer is Problem
 *   `outcome-unknown` from then on, the first time and for every repeat. An answer of the far end is one whatever its
 *   status says.
 * - `asked`: by the word of its method it changes nothing outside, so without an answer it is asked again.
 */
export function createEffectOnce(deps: { readonly database: Database; readonly clock: Clock }) {
  const { database } = deps
  const table = createEffectTable(deps)
  const underWay = createEffectsUnderWay(deps.clock)

  /** The row of an earlier attempt; null where there is none. */
  function known(call: EffectCall, digest: string): EffectRow | null {
    const row = table.find(call)
    if (row && row.digest !== digest) throw keyUsed()
    if (!row && table.keptBytes(call.runId) >= repliesMaxBytes) {
      throw new Problem('unprocessable', {
        detail: 'this run has made more calls than are remembered for one run',
      })
    }
    return row
  }

  function local<T>(call: EffectCall, work: () => T): T {
    const digest = digestOf(call)
    underWay.refuseOther(call, digest)
    return keepingRefusals(database, () => {
      const row = known(call, digest)
      if (row?.reply != null) return JSON.parse(row.reply) as T
      const reply = work()
      table.begin(call, digest, null)
      table.answer(call, reply)
      return reply
    })
  }

  function resumable<T>(call: EffectCall, work: (step: EffectStep<T>) => Promise<T>): Promise<T> {
    return shared<T>(call, async ({ digest }) => {
      const row = known(call, digest)
      if (row?.reply != null) return JSON.parse(row.reply) as T
      let isSettled = false
      const settle = (write: () => T): T =>
        keepingRefusals(database, () => {
          const reply = write()
          table.begin(call, digest, null)
          table.answer(call, reply)
          isSettled = true
          return reply
        })
      const begin: EffectStep<T>['begin'] = (mark) => table.begin(call, digest, mark)
      const reply = await work({ begun: row?.mark ?? null, begin, settle })
      return isSettled ? reply : settle(() => reply)
    })
  }

  function outside<T>(call: EffectCall, work: (line: OutsideLine) => Promise<T>): Promise<T> {
    return shared<T>(call, async ({ digest, signal }) => {
      const row = known(call, digest)
      if (row?.reply != null) return JSON.parse(row.reply) as T
      if (row) throw new Problem('outcome-unknown')
      let hasLeft = false
      const dispatching = (): void => {
        if (hasLeft) return
        signal.throwIfAborted()
        table.begin(call, digest, null)
        hasLeft = true
      }
      try {
        const reply = await work({ dispatching, signal })
        dispatching()
        table.answer(call, reply)
        return reply
      } catch (error) {
        throw hasLeft ? outcomeUnknown(error) : error
      }
    })
  }

  function asked<T>(call: EffectCall, work: (line: OutsideLine) => Promise<T>): Promise<T> {
    return shared<T>(call, async ({ digest, signal }) => {
      const row = known(call, digest)
      if (row?.reply != null) return JSON.parse(row.reply) as T
      const reply = await work({ dispatching: () => signal.throwIfAborted(), signal })
      database.transaction(() => {
        table.begin(call, digest, null)
        table.answer(call, reply)
      })
      return reply
    })
  }

  /** A repeat joins what is under way. */
  async function shared<T>(
    call: EffectCall,
    work: (one: { readonly digest: string; readonly signal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    const digest = digestOf(call)
    const { agentId, runId, key } = call
    return underWay.join({ agentId, runId, key }, digest, (signal) => work({ digest, signal }))
  }

  return {
    local,
    resumable,
    outside,
    asked,
    /** After the run's end nobody asks for an answer any more: what still waits outside is let go. */
    runEnded: underWay.endRun,
    /** Waits so long for what is under way, so that its answers are kept; then the database may close. */
    close: underWay.close,
    /** Lets go of what no repeat can ask for any more. */
    forgetOld: table.forgetOld,
  }
}

export type EffectOnce = ReturnType<typeof createEffectOnce>

function digestOf(call: EffectCall): string {
  return createHash('sha256').update(JSON.stringify(call.request)).digest('hex')
}

/** Said at once and not by the repeat alone: whoever sends it under a new key must know that it may be the second time. */
export function outcomeUnknown(error: unknown): Problem {
  const why = error instanceof Problem ? `${error.code}: ${error.detail}` : 'something failed on the way'
  return new Problem('outcome-unknown', {
    detail: `It was sent and may have had its effect, but there is no whole answer (${why}).`,
    cause: error,
  })
}
