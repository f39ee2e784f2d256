import { blackboardShare } from '@flotilla/protocol/blackboard-limits'
import { hasRoom } from '../../intake/index.ts'
import type { RowBounds } from '../../intake/index.ts'
import type { BlackboardTable } from './blackboard-table.ts'

export interface PlannedWrite {
  readonly writtenBy: string
  /** Agents have a share; people may fill the board. */
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

/** Why the blackboard has no room for a write, with what the writer can do; null if it has room. */
export function whyFull(table: Counts, write: PlannedWrite): string | null {
  const { writtenBy } = write
  const own = table.sums.of(writtenBy)
  const total = table.sums.total()
  const { keys, history, bytes } = blackboardShare
  if (write.isNew && !hasRoom({ own: own.rows, total: total.rows }, boundsFor(write, keys)))
    return `${writtenBy} has written ${own.rows} keys of the blackboard: one agent may have ${keys.perAgentMax}, all together ${keys.max}; write over keys that are no longer needed, or have a person delete some`
  if (write.isNew && write.isHistory) {
    const counts = table.historyCounts(writtenBy)
    if (!hasRoom(counts, boundsFor(write, history)))
      return `${writtenBy} has written ${counts.own} entries under history/: one agent may have ${history.perAgentMax}, all together ${history.max}; a person takes old ones away with flotilla blackboard delete`
  }
  const replaced = table.sizeOf(write.key)
  const ownReplaced = replaced?.writtenBy === writtenBy ? replaced.bytes : 0
  const rest = { own: own.bytes - ownReplaced, total: total.bytes - (replaced?.bytes ?? 0) }
  if (write.bytes <= ownReplaced || hasRoom(rest, boundsFor(write, bytes), write.bytes)) return null
  return `${writtenBy} has written ${own.bytes} bytes of the blackboard: one agent may have ${bytes.perAgentMax}, all together ${bytes.max}; write shorter values over those that are no longer needed, or have a person delete some`
}

function boundsFor({ isAgent }: PlannedWrite, bounds: RowBounds): RowBounds {
  return isAgent ? bounds : { ...bounds, perAgentMax: bounds.max }
}
