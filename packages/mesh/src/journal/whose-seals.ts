import type { Database } from '../storage/index.ts'
import { readCheckpoints } from './journal-checkpoints.ts'
import { checkpointText, headText } from './journal-seal.ts'
import type { JournalSeal } from './journal-seal.ts'
import { readHead } from './journal-table.ts'
import type { JournalTrust } from './verify-journal.ts'

/**
 * Whose hand sealed this journal, in the database and outside of it: `nobody` where it has never been sealed, which is
 * so at a first start alone; `ours` where at least one seal is of this secret; `others` where not one is. One is
 * enough: who changes the rest breaks the journal, which verification tells, and does not make the secret another.
 */
export function whoseSeals(
  database: Database,
  { seal, anchors }: Pick<JournalTrust, 'seal' | 'anchors'>,
): 'nobody' | 'ours' | 'others' {
  const head = readHead(database)
  const inside = head && head.seal !== '' ? [isOf(seal, headText(head), head.seal)] : []
  const points = [...readCheckpoints(database), ...anchors.read()]
  const outside = points.map((point) => point !== null && isOf(seal, checkpointText(point), point.seal))
  const all = [...inside, ...outside]
  if (all.length === 0) return 'nobody'
  return all.includes(true) ? 'ours' : 'others'
}

function isOf(seal: JournalSeal, text: string, found: string): boolean {
  return seal(text) === found
}
