import { createHash } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Database, Resumable } from '../storage/index.ts'
import { keepingRefusals } from '../storage/index.ts'
import { createEffectTable, keyUsed } from './effect-table.ts'
import type { EffectRow } from './effect-table.ts'
import { createEffectsUnderWay } from './effects-under-way.ts'

/**
 * Limit of stored answers for one run in bytes, far above what its rounds can request. Without it, an agent that
 * repeats a call with new keys could fill the disk of all.
 */
const repliesMaxBytes = 64 * 1024 * 1024

export interface EffectCall {
  readonly agentId: string
  readonly runId: string
  /** `<run>:<step>`, as sent by the agent. */
  readonly key: string
  readonly request: unknown
}

/** The step by which work with files or containers stores its mark and answer, and resumes after a restart. */
export type EffectStep<Answer> = Resumable<Answer>

/** Passed to work whose effect leaves the mesh. */
export interface OutsideLine {
  /**
   * The work must call this right before the first byte may leave the mesh; more calls change nothing. From then on
   * the effect may have happened, so the agent's call is never repeated. If `dispatching` throws, the work must end.
   */
  readonly dispatching: () => void
  /** Aborts when the run is over or the mesh stops, but not when the client disconnects. */
  readonly signal: AbortSignal
}

/**
 * Carries out a call with an idempotency key once: a repeat with the same key gets the first answer, also while the
 * first is running and after a restart. The same key with another request is a `conflict`. A call that was rejected
 * before its effect can be sent again. `unprocessable` once the answers of the run reach their limit.
 * - `local`: effect and answer are rows of one transaction, so both are committed or neither.
 * - `resumable`: a file or a container is involved. The row is written first, with a mark that identifies the effect;
 *   a repeat resumes from there.
 * - `outside`: bytes leave the mesh. The row is written first and stays. A call without an answer is the problem
 *   `outcome-unknown`, the first time and for every repeat. Any response of the remote server is an answer, whatever
 *   its status.
 * - `repeatable`: the HTTP method is safe, so a call without an answer is sent again.
 */
export function createEffectOnce(deps: { readonly database: Database; readonly clock: Clock }) {
  const { database } = deps
  const table = createEffectTable(deps)
  const underWay = createEffectsUnderWay(deps.clock)

  /** The row of an earlier attempt, or null. */
  function known(call: EffectCall, digest: string): EffectRow | null {
    const row = table.find(call)
    if (row && row.digest !== digest) throw keyUsed()
    if (!row && table.keptBytes(call.runId) >= repliesMaxBytes) {
      throw new Problem('unprocessable', {
        detail: 'this run has made the maximum number of calls that the mesh records for one run',
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

  function repeatable<T>(call: EffectCall, work: (line: OutsideLine) => Promise<T>): Promise<T> {
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

  /** Runs the work of a call; a repeated call gets the result of the same call that is still running. */
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
    repeatable,
    /** After the end of a run, no agent asks for an answer any more, so its outside calls are aborted. */
    runEnded: underWay.endRun,
    /** Whether the row of an effect exists, so that it may have left. */
    wasBegun: (call: Pick<EffectCall, 'runId' | 'key'>): boolean => table.find(call) !== null,
    /**
     * Waits up to the grace period for running calls, so that their answers are stored; then the database may be
     * closed.
     */
    close: underWay.close,
    /** Deletes rows that no repeat can ask for any more. */
    forgetOld: table.forgetOld,
  }
}

export type EffectOnce = ReturnType<typeof createEffectOnce>

function digestOf(call: EffectCall): string {
  return createHash('sha256').update(JSON.stringify(call.request)).digest('hex')
}

/**
 * Creates the problem of a call without an answer. The first caller gets it too, not only a repeat, because a caller
 * that retries with a new key must know that the effect may happen twice.
 */
export function outcomeUnknown(error: unknown): Problem {
  const why = error instanceof Problem ? `${error.code}: ${error.detail}` : 'the connection failed'
  return new Problem('outcome-unknown', {
    detail: `The call was sent and may have taken effect, but no complete answer arrived (${why}).`,
    cause: error,
  })
}
