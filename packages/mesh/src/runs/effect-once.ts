import { createHash } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Database } from '../storage/database.ts'

/**
 * Answers kept for one run, bytes: far above what its rounds can ask for. The disk is everybody's, and one agent that
 * repeats a call with ever new keys would fill it.
 */
const repliesMaxBytes = 64 * 1024 * 1024
/** What a row takes beside its answer, bytes: ids, key, digest and index. Most answers are shorter than that. */
const rowBytes = 500
/** A run that has ended is refused at the door, so that no repeat can come any more. */
const keptAfterEndMs = 60_000
/** Rows of runs that never end are kept for longer than any run may live. */
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
 * sent again. Problem `outcome-unknown` as told above; `unprocessable` once the answers of the run fill their room.
 */
export function createEffectOnce({
  database,
  clock,
}: {
  readonly database: Database
  readonly clock: Clock
}) {
  const underWay = new Map<string, Promise<unknown>>()
  /** Looked up once per run, then counted along; empty again after each clean-up. */
  const bytesByRun = new Map<string, number>()

  function keptBytes(runId: string): number {
    const known = bytesByRun.get(runId)
    if (known !== undefined) return known
    const row = database
      .prepare(
        'SELECT coalesce(sum(coalesce(octet_length(reply), 0) + ?), 0) AS bytes FROM effect WHERE run_id = ?',
      )
      .get(rowBytes, runId)
    const bytes = Number(row?.['bytes'] ?? 0)
    bytesByRun.set(runId, bytes)
    return bytes
  }

  async function perform<T>(call: EffectCall, digest: string, work: () => Promise<T> | T): Promise<T> {
    const row = database
      .prepare('SELECT request_digest AS digest, reply FROM effect WHERE run_id = ? AND key = ?')
      .get(call.runId, call.key)
    if (row && row['digest'] !== digest) {
      throw new Problem('conflict', { detail: 'this idempotency key was used for another request' })
    }
    if (typeof row?.['reply'] === 'string') return JSON.parse(row['reply']) as T
    if (row && call.ifCutOff === 'unknown') throw new Problem('outcome-unknown')
    if (keptBytes(call.runId) >= repliesMaxBytes) {
      throw new Problem('unprocessable', {
        detail: 'this run has made more calls than are remembered for one run',
      })
    }
    database
      .prepare('INSERT OR IGNORE INTO effect (run_id, key, request_digest, begun_at) VALUES (?, ?, ?, ?)')
      .run(call.runId, call.key, digest, clock.now())
    try {
      const reply = await work()
      const text = JSON.stringify(reply)
      database
        .prepare('UPDATE effect SET reply = ? WHERE run_id = ? AND key = ?')
        .run(text, call.runId, call.key)
      bytesByRun.set(call.runId, keptBytes(call.runId) + Buffer.byteLength(text) + rowBytes)
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
    /** Lets go of what no repeat can ask for any more. */
    forgetOld(): void {
      database.prepare('DELETE FROM effect WHERE begun_at < ?').run(clock.now() - keptMs)
      database
        .prepare(
          'DELETE FROM effect WHERE run_id IN (SELECT DISTINCT effect.run_id FROM effect JOIN runs ON runs.id = effect.run_id WHERE runs.ended_at <= ?)',
        )
        .run(clock.now() - keptAfterEndMs)
      bytesByRun.clear()
    },
  }
}

export type EffectOnce = ReturnType<typeof createEffectOnce>
