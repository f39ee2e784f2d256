import type { Database } from '../storage/index.ts'
import { readCheckpoints } from './journal-checkpoints.ts'
import { checkpointText, headText } from './journal-seal.ts'
import type { JournalSeal } from './journal-seal.ts'
import { readHead } from './journal-table.ts'
import type { JournalTrust } from './verify-journal.ts'

/**
 * Returns which secret sealed this audit log, in the database and outside: `none` if it was never sealed, which
 * happens only at a first start; `own` if at least one seal is from this secret; else `foreign`. One own seal is
 * enough: an attacker who changes others breaks the log, which verification detects, and does not change the secret.
 */
export function whoseSeals(
  database: Database,
  { seal, anchors }: Pick<JournalTrust, 'seal' | 'anchors'>,
): 'none' | 'own' | 'foreign' {
  const head = readHead(database)
  const inside = head && head.seal !== '' ? [isOf(seal, headText(head), head.seal)] : []
  const points = [...readCheckpoints(database), ...anchors.read()]
  const outside = points.map((point) => point !== null && isOf(seal, checkpointText(point), point.seal))
  const all = [...inside, ...outside]
  if (all.length === 0) return 'none'
  return all.includes(true) ? 'own' : 'foreign'
}

function isOf(seal: JournalSeal, text: string, found: string): boolean {
  return seal(text) === found
}
