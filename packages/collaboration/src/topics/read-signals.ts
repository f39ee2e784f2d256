import { Problem } from '@flotilla/protocol/problem'
import { topicLimits } from '@flotilla/protocol/topics-api'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { Database } from '@flotilla/foundation/storage'
import type { TopicTable, UnreadSignal } from './topic-table.ts'

/**
 * The limit of one answer, in bytes of JSON; an answer always has at least one signal. Agents
 * truncate long input of their models, and a truncated signal would count as read.
 */
const answerMaxBytes = 16 * 1024

export interface ReadSignals {
  readonly signals: readonly UnreadSignal[]
  /** How many more are unread. */
  readonly more: number
}

/**
 * Returns the oldest unread signals of an agent. They count as read when the run that received them ends well, so
 * that a failed run loses none: delivery at least once. Repeating a call gives the same signals; another call of the
 * run gives the following ones. Problems `denied`, `stale-fence` without a live run.
 */
export type ReadUnread = (
  caller: Caller,
  request: { readonly limit: number; readonly key: string },
) => ReadSignals

export function readSignals(deps: {
  readonly database: Database
  readonly table: TopicTable
  readonly guard: Guard
}): ReadUnread {
  const { table } = deps
  return (caller, { limit, key }) => {
    const agentId = caller.kind === 'agent' ? caller.agentId : ''
    deps.guard(caller, { do: 'act-for-self', agentId })
    const runId = caller.kind === 'agent' ? caller.run?.runId : undefined
    if (runId === undefined) throw new Problem('stale-fence')
    return deps.database.transaction(() => {
      const before = table.shownBy(agentId, runId, key)
      const signals = before.length > 0 ? before : withinBytes(table.unshown(agentId, runId, boundOf(limit)))
      if (before.length === 0) {
        for (const { position } of signals) table.show(agentId, position, { runId, key })
      }
      return { signals, more: table.unshownCount(agentId, runId) }
    })
  }
}

function boundOf(limit: number): number {
  return Math.min(topicLimits.readMax, Math.max(1, limit))
}

function withinBytes(signals: readonly UnreadSignal[]): readonly UnreadSignal[] {
  let sizeBytes = 0
  const count = signals.findIndex((signal, index) => {
    sizeBytes += Buffer.byteLength(JSON.stringify(signal))
    return index > 0 && sizeBytes > answerMaxBytes
  })
  return count === -1 ? signals : signals.slice(0, count)
}
