import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'

export type GeneratedTable = ReturnType<typeof createGeneratedTable>

/**
 * Stores for which agent each credential was generated. The values are in `.env`, where a person can remove them by
 * hand.
 */
export function createGeneratedTable(database: Database) {
  return {
    /** Joins the caller's transaction. */
    keep: (made: { readonly name: string; readonly agentId: string; readonly at: number }): void => {
      database
        .prepare(
          `INSERT INTO generated_credentials (name, made_for, made_at) VALUES (?, ?, ?)
           ON CONFLICT (name) DO UPDATE SET made_for = excluded.made_for, made_at = excluded.made_at`,
        )
        .run(made.name, made.agentId, made.at)
    },
    namesOf: (agentId: string): readonly string[] =>
      database
        .prepare('SELECT name FROM generated_credentials WHERE made_for = ?')
        .all(agentId)
        .map((row) => z.object({ name: z.string() }).parse(row).name),
    /** Removes the rows of credentials that no longer exist. */
    forget: (names: readonly string[]): void => {
      const remove = database.prepare('DELETE FROM generated_credentials WHERE name = ?')
      for (const name of names) remove.run(name)
    },
  }
}
