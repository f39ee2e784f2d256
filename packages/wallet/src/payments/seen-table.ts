import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'

const rowSchema = z.object({ chain: z.string(), sender: z.string() })

export type SeenTable = ReturnType<typeof createSeenTable>

/** For each address on a chain without nonces, how far its signatures were checked, in the adapter's own form. */
export function createSeenTable(database: Database) {
  return {
    seen: (chain: string, sender: string): string | null => {
      const row = database
        .prepare('SELECT seen FROM wallet_seen WHERE chain = ? AND sender = ?')
        .get(chain, sender)
      return row ? z.object({ seen: z.string() }).parse(row).seen : null
    },
    setSeen: (
      chain: string,
      sender: string,
      { seen, nextPollAt }: { seen: string; nextPollAt: number },
    ): void => {
      database
        .prepare(
          `INSERT INTO wallet_seen (chain, sender, seen, next_look_at) VALUES (?, ?, ?, ?)
           ON CONFLICT (chain, sender) DO UPDATE SET seen = excluded.seen, next_look_at = excluded.next_look_at`,
        )
        .run(chain, sender, seen, nextPollAt)
    },
    /** Returns addresses that are due for a check, the longest due first. */
    due: (now: number, limit: number): readonly z.infer<typeof rowSchema>[] =>
      database
        .prepare(
          'SELECT chain, sender FROM wallet_seen WHERE next_look_at <= ? ORDER BY next_look_at LIMIT ?',
        )
        .all(now, limit)
        .map((row) => rowSchema.parse(row)),
    /** Schedules the next check, whatever the last one found. */
    putOff: (chain: string, sender: string, nextPollAt: number): void => {
      database
        .prepare('UPDATE wallet_seen SET next_look_at = ? WHERE chain = ? AND sender = ?')
        .run(nextPollAt, chain, sender)
    },
    isOwn: (chain: string, txId: string): boolean =>
      database.prepare('SELECT 1 FROM wallet_intents WHERE chain = ? AND tx_id = ?').get(chain, txId) !==
      undefined,
    /** Trusts existing signatures again; true if any address had a mark. */
    forget: (): boolean => database.prepare('DELETE FROM wallet_seen').run().changes > 0,
  }
}
