import * as z from 'zod'
import type { Database } from '../storage/index.ts'
import { checkpointText } from './journal-seal.ts'
import type { JournalSeal } from './journal-seal.ts'

export const checkpointSchema = z.object({
  seq: z.number(),
  /** Hash of the row with this number. */
  hash: z.string(),
  kind: z.enum(['verified', 'pruned', 'accepted']),
  at: z.number(),
  seal: z.string(),
})
export type Checkpoint = Readonly<z.infer<typeof checkpointSchema>>

/** The maximum number of checkpoints in the table, in addition to the one where verification starts. */
const checkpointsMax = 50

/** Oldest first. */
export function readCheckpoints(database: Database): readonly Checkpoint[] {
  return database
    .prepare('SELECT seq, hash, kind, at, seal FROM journal_checkpoints ORDER BY seq')
    .all()
    .map((row) => checkpointSchema.parse(row))
}

/** The start of a full verification: after pruned or accepted rows. Pure. */
export function baseOf(checkpoints: readonly Checkpoint[]): Checkpoint | null {
  return checkpoints.findLast(({ kind }) => kind !== 'verified') ?? null
}

export function sealed(checkpoint: Omit<Checkpoint, 'seal'>, seal: JournalSeal): Checkpoint {
  return { ...checkpoint, seal: seal(checkpointText(checkpoint)) }
}

/** Runs in the caller's transaction. */
export function writeCheckpoint(database: Database, { seq, hash, kind, at, seal }: Checkpoint): void {
  database
    .prepare('INSERT OR REPLACE INTO journal_checkpoints (seq, hash, kind, at, seal) VALUES (?, ?, ?, ?, ?)')
    .run(seq, hash, kind, at, seal)
  if (kind === 'pruned') database.prepare('DELETE FROM journal_checkpoints WHERE seq < ?').run(seq)
  // Later checkpoints may refer to deleted rows; an accepted chain has no other checkpoints.
  if (kind === 'accepted') database.prepare('DELETE FROM journal_checkpoints WHERE seq <> ?').run(seq)
  database
    .prepare(
      `DELETE FROM journal_checkpoints WHERE kind = 'verified' AND seq NOT IN
        (SELECT seq FROM journal_checkpoints ORDER BY seq DESC LIMIT ?)`,
    )
    .run(checkpointsMax)
}
