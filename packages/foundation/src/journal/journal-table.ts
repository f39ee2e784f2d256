import type { Clock } from '@flotilla/protocol/clock'
import * as z from 'zod'
import type { Database } from '../storage/index.ts'
import { canonicalJson, chainHash, genesisHash } from './chain-hash.ts'
import { headText } from './journal-seal.ts'
import type { JournalSeal } from './journal-seal.ts'
import type { Journal } from './journal.ts'

/** The end of the chain: last number, number of rows, hash of the last row. */
export interface JournalHead {
  readonly seq: number
  readonly count: number
  readonly hash: string
  /** The MAC over this head; empty if the head was written without a secret. */
  readonly seal: string
}

const headSchema = z.object({ seq: z.number(), count: z.number(), hash: z.string(), seal: z.string() })

/**
 * The audit log on its table. The head row records the end of the chain, so that truncation is detected; it is
 * sealed, so that an attacker who truncates the log cannot forge it.
 */
export function createJournal({
  database,
  clock,
  seal,
}: {
  readonly database: Database
  readonly clock: Clock
  readonly seal?: JournalSeal
}): Journal {
  return {
    append: ({ actor, action, subject, detail }) =>
      database.transaction(() => {
        const found = readHead(database)
        const head = found ?? { seq: 0, count: 0, hash: genesisHash }
        // If this mesh did not seal the found head, the new head gets no seal: only a person may accept such a chain.
        const isOurs = found === null || found.seal === seal?.(headText(found))
        const link = {
          seq: head.seq + 1,
          at: clock.now(),
          actor,
          action,
          subject,
          detail: canonicalJson(detail),
        }
        const hash = chainHash(head.hash, link)
        database
          .prepare(
            'INSERT INTO journal (seq, at, actor, action, subject, detail, previous_hash, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
          )
          .run(link.seq, link.at, actor, action, subject, link.detail, head.hash, hash)
        writeHead(database, { seq: link.seq, count: head.count + 1, hash }, isOurs ? seal : undefined)
      }),
  }
}

/** Runs in the caller's transaction. */
export function writeHead(
  database: Database,
  head: Omit<JournalHead, 'seal'>,
  seal: JournalSeal | undefined,
): void {
  database
    .prepare(
      'INSERT INTO journal_head (id, seq, count, hash, seal) VALUES (1, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, count = excluded.count, hash = excluded.hash, seal = excluded.seal',
    )
    .run(head.seq, head.count, head.hash, seal?.(headText(head)) ?? '')
}

/** Null if nothing was ever written. */
export function readHead(database: Database): JournalHead | null {
  const row = database.prepare('SELECT seq, count, hash, seal FROM journal_head WHERE id = 1').get()
  return row ? headSchema.parse(row) : null
}
