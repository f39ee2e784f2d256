import { createHash } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Database } from '../storage/database.ts'

/** Rows are kept for longer than any run may live, so that a late repeat still meets its first answer. */
const keptMs = 14 * 24 * 3600 * 1000

export interface EffectCall {
  readonly runId: string
  /** `<run>:<step>` as the agent sends it. */
  readonly key: string
  readonly request: unknown
  /**
   * What a repeat finds when the first call began and its end was never written (the mesh died in between):
   * `again` where the effect lies in our own database and was rolled back, `unknown` where it left the mesh.
   */
  readonly ifCutOff: 'again' | 'unknown'
}

/**
 * Does the work of a keyed call once: a repeat with the same key gets the first answer, also while the first is
 * under way and after a restart. The same key with another request is a `conflict`. A call that failed may be
 * sent again. Problem `outcome-unknown` as told above.
 */
export function createEffectOnce({
  database,
  clock,
}: {
  readonly database: Database
  readonly clock: Clock
}) {
  const underWay = new Map<string, Promise<unknown>>()

  async function perform<T>(call: EffectCall, digest: string, work: () => Promise<T> | T): Promise<T> {
    const row = database
      .prepare('SELECT request_digest AS digest, reply FROM effect WHERE run_id = ? AND key = ?')
      .get(call.runId, call.key)
    if (row && row['digest'] !== digest) {
      throw new Problem('conflict', { detail: 'this idempotency key was used for another request' })
    }
    if (typeof row?.['reply'] === 'string') return JSON.parse(row['reply']) as T
    if (row && call.ifCutOff === 'unknown') throw new Problem('outcome-unknown')
    database
      .prepare('INSERT OR IGNORE INTO effect (run_id, key, request_digest, begun_at) VALUES (?, ?, ?, ?)')
      .run(call.runId, call.key, digest, clock.now())
    try {
      const reply = await work()
      database
        .prepare('UPDATE effect SET reply = ? WHERE run_id = ? AND key = ?')
        .run(JSON.stringify(reply), call.runId, call.key)
      return reply
    } catch (error) {
      database.prepare('DELETE FROM effect WHERE run_id = ? AND key = ?').run(call.runId, call.key)
      throw error
    }
  }

  return {
    once<T>(call: EffectCall, work: () => Promise<T> | T): Promise<T> {
      const digest = createHash('sha256').update(JSON.stringify(call.request)).digest('hex')
      const id = `${call.runId}\n${call.key}\n${digest}`
      const first = underWay.get(id)
      if (first) return first as Promise<T>
      const result = perform(call, digest, work).finally(() => underWay.delete(id))
      underWay.set(id, result)
      return result
    },
    forgetOld(): void {
      database.prepare('DELETE FROM effect WHERE begun_at < ?').run(clock.now() - keptMs)
    },
  }
}

export type EffectOnce = ReturnType<typeof createEffectOnce>
