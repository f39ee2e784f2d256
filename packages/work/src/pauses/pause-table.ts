import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'

/** The scope of the whole fleet; no agent can have this id. */
export const fleetScope = '*'

export interface PauseRecord {
  /** An agent's id, or `*`. */
  readonly scope: string
  readonly reason: string
  readonly actor: string
  /** Milliseconds since 1970. */
  readonly since: number
}

const rowSchema = z.object({ scope: z.string(), reason: z.string(), actor: z.string(), since: z.number() })

export function createPauseTable(database: Database) {
  return {
    list: (): readonly PauseRecord[] =>
      database
        .prepare('SELECT scope, reason, actor, since FROM pauses ORDER BY scope')
        .all()
        .map((row) => rowSchema.parse(row)),
    put: ({ scope, reason, actor, since }: PauseRecord): void => {
      database
        .prepare(
          'INSERT INTO pauses (scope, reason, actor, since) VALUES (?, ?, ?, ?) ON CONFLICT (scope) DO UPDATE SET reason = excluded.reason, actor = excluded.actor, since = excluded.since',
        )
        .run(scope, reason, actor, since)
    },
    remove: (scope: string): boolean =>
      database.prepare('DELETE FROM pauses WHERE scope = ?').run(scope).changes === 1,
  }
}
