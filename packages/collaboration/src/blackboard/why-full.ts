import { blackboardShare } from '@flotilla/protocol/blackboard-limits'
import { hasRoom } from '@flotilla/foundation/intake'
import type { RowBounds } from '@flotilla/foundation/intake'
import type { BlackboardTable } from './blackboard-table.ts'

export interface PlannedWrite {
  readonly writtenBy: string
  /** True if the writer is an agent: agents have a limited share of the blackboard, and people may fill it. */
  readonly isAgent: boolean
  readonly key: string
  /** The size of the key and its value as JSON. */
  readonly bytes: number
  /** False if the write replaces the value of an existing key. */
  readonly isNew: boolean
  /** Whether the key is under `history/`. */
  readonly isHistory: boolean
}

type Counts = Pick<BlackboardTable, 'sums' | 'historyCounts' | 'sizeOf'>

/** Returns why the blackboard has no room for a write, and what the writer can do; null if it has room. */
export function whyFull(table: Counts, write: PlannedWrite): string | null {
  const { writtenBy } = write
  const own = table.sums.of(writtenBy)
  const total = table.sums.total()
  const { keys, history, bytes } = blackboardShare
  if (write.isNew && !hasRoom({ own: own.rows, total: total.rows }, boundsFor(write, keys)))
    return `${writtenBy} has written ${own.rows} keys of the blackboard. One agent may write ${keys.perAgentMax}, all agents together ${keys.max}. Overwrite keys that are no longer needed, or ask a person to delete some (flotilla blackboard delete KEY)`
  if (write.isNew && write.isHistory) {
    const counts = table.historyCounts(writtenBy)
    if (!hasRoom(counts, boundsFor(write, history)))
      return `${writtenBy} has written ${counts.own} entries under history/. One agent may write ${history.perAgentMax}, all agents together ${history.max}. Ask a person to delete old entries: flotilla blackboard delete KEY`
  }
  const replaced = table.sizeOf(write.key)
  const ownReplaced = replaced?.writtenBy === writtenBy ? replaced.bytes : 0
  const rest = { own: own.bytes - ownReplaced, total: total.bytes - (replaced?.bytes ?? 0) }
  if (write.bytes <= ownReplaced || hasRoom(rest, boundsFor(write, bytes), write.bytes)) return null
  return `${writtenBy} has written ${own.bytes} bytes of the blackboard. One agent may write ${bytes.perAgentMax}, all agents together ${bytes.max}. Overwrite values that are no longer needed with shorter ones, or ask a person to delete some (flotilla blackboard delete KEY)`
}

function boundsFor({ isAgent }: PlannedWrite, bounds: RowBounds): RowBounds {
  return isAgent ? bounds : { ...bounds, perAgentMax: bounds.max }
}
