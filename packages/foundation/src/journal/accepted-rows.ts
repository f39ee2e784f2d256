import { createHash } from 'node:crypto'
import type { JsonObject } from '@flotilla/protocol/json-value'
import * as z from 'zod'
import type { Database } from '../storage/index.ts'
import type { Checkpoint } from './journal-checkpoints.ts'
import { journalRowSchema, rowsAfter } from './read-journal.ts'

/**
 * Accepted rows, compared with their state at the acceptance. The row of the acceptance, which is sealed, contains
 * digests of all rows before it, block by block. Blocks can thus be pruned from the oldest on, and the rest is still
 * compared.
 */
export interface AcceptedBlock {
  /** The block contains the rows after this number, up to `last`. */
  readonly after: number
  /** The number of the last row in the block. */
  readonly last: number
  readonly digest: string
}

/** The number of rows in a block, more in a very long log; one step of pruning deletes one block. */
export const acceptedBlockRows = 5000
/** The maximum number of blocks, so that the row of the acceptance stays small; a longer log has larger blocks. */
const blocksMax = 1000
const pageRows = 500

const detailSchema = z.object({ blocks: z.array(z.tuple([z.number(), z.string()])) })

/** Digests of all current rows, for the detail of the acceptance. */
export function acceptedDetail(database: Database): JsonObject {
  const count = Number(database.prepare('SELECT count(*) AS count FROM journal').get()?.['count'] ?? 0)
  const rowsEach = acceptedBlockRows * Math.max(1, Math.ceil(count / (acceptedBlockRows * blocksMax)))
  const blocks: [number, string][] = []
  let hash = createHash('sha256')
  let inBlock = 0
  let last = Number.MIN_SAFE_INTEGER
  for (const row of rowsFrom(database, last)) {
    hash.update(rowText(row))
    last = Number(row['seq'])
    if (++inBlock < rowsEach) continue
    blocks.push([last, hash.digest('hex')])
    hash = createHash('sha256')
    inBlock = 0
  }
  if (inBlock > 0) blocks.push([last, hash.digest('hex')])
  return { blocks }
}

/** Returns the accepted blocks that were not pruned, oldest first; null if an older release wrote the acceptance. */
export function acceptedBlocks(
  database: Database,
  base: Checkpoint,
  checkpoints: readonly Checkpoint[],
): readonly AcceptedBlock[] | null {
  const row = journalRowSchema.safeParse(rowsAfter(database, base.seq - 1, 1)[0]).data
  const detail = detailSchema.safeParse(row?.detail).data
  if (!detail) return null
  const all = detail.blocks.map(([last, digest], index) => ({
    after: detail.blocks[index - 1]?.[0] ?? Number.MIN_SAFE_INTEGER,
    last,
    digest,
  }))
  const pruned = all.findLastIndex((block) =>
    checkpoints.some(
      ({ kind, seq, hash }) => kind === 'pruned' && seq === block.last && hash === block.digest,
    ),
  )
  return all.slice(pruned + 1)
}

/** Compares every row before the acceptance; null if all are unchanged, or if the acceptance did not list them. */
export function faultOfAccepted(
  database: Database,
  base: Checkpoint,
  checkpoints: readonly Checkpoint[],
): { readonly seq: number; readonly detail: string } | null {
  const blocks = acceptedBlocks(database, base, checkpoints)
  if (blocks === null) return null
  const stray =
    strayRow(database, Number.MIN_SAFE_INTEGER, blocks[0]?.after ?? base.seq - 1) ??
    strayRow(database, blocks.at(-1)?.last ?? base.seq, base.seq - 1)
  if (stray !== null)
    return { seq: stray, detail: 'the audit log has a row that did not exist when its state was accepted' }
  const other = blocks.find((block) => !isAsAccepted(database, block))
  if (other) return { seq: other.last, detail: otherWords(other) }
  return null
}

function strayRow(database: Database, after: number, through: number): number | null {
  const row = database
    .prepare('SELECT seq FROM journal WHERE seq > ? AND seq <= ? LIMIT 1')
    .get(after, through)
  return row ? Number(row['seq']) : null
}

export function otherWords({ last }: AcceptedBlock): string {
  return `the rows up to ${last} differ from those that were accepted`
}

export function isAsAccepted(database: Database, { after, last, digest }: AcceptedBlock): boolean {
  const hash = createHash('sha256')
  for (const row of rowsFrom(database, after)) {
    if (Number(row['seq']) > last) break
    hash.update(rowText(row))
  }
  return hash.digest('hex') === digest
}

type RawRow = ReturnType<typeof rowsAfter>[number]

/** Reads a page at a time, so that a long log takes little memory. */
function* rowsFrom(database: Database, after: number): Generator<RawRow> {
  let last = after
  for (;;) {
    const page = rowsAfter(database, last, pageRows)
    yield* page
    const end = page.at(-1)
    if (!end || page.length < pageRows) return
    last = Number(end['seq'])
  }
}

/** Returns all columns of a row as one text, even if some of them are invalid. */
function rowText(row: RawRow): string {
  const { seq, at, actor, action, subject, detail, previous_hash: previous, hash } = row
  return `${JSON.stringify([seq, at, actor, action, subject, detail, previous, hash])}\n`
}
