import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'

/** A browser that a person has or was asked to take. Times are milliseconds since 1970. */
export interface HandOver {
  readonly id: string
  readonly agentId: string
  /** `captcha`: a page shows a CAPTCHA. `person`: a person took over without being asked. */
  readonly kind: 'captcha' | 'person'
  /** The person as the audit log names them, or `solver`; null while no person has taken the browser. */
  readonly takenBy: string | null
  readonly host: string
  readonly url: string
  readonly title: string
  readonly createdAt: number
}

const rowSchema = z
  .object({
    id: z.string(),
    agent_id: z.string(),
    kind: z.enum(['captcha', 'person']),
    taken_by: z.string().nullable(),
    host: z.string(),
    url: z.string(),
    title: z.string(),
    created_at: z.number(),
  })
  .transform((row): HandOver => ({
    id: row.id,
    agentId: row.agent_id,
    kind: row.kind,
    takenBy: row.taken_by,
    host: row.host,
    url: row.url,
    title: row.title,
    createdAt: row.created_at,
  }))

/** Stores open hand-overs. Ended ones are only in the audit log. */
export function createHandOverTable(database: Database) {
  return {
    find: (agentId: string): HandOver | null => {
      const row = database.prepare('SELECT * FROM browser_hand_overs WHERE agent_id = ?').get(agentId)
      return row ? rowSchema.parse(row) : null
    },
    list: (): readonly HandOver[] =>
      database
        .prepare('SELECT * FROM browser_hand_overs ORDER BY created_at')
        .all()
        .map((row) => rowSchema.parse(row)),
    insert: (row: HandOver): void => {
      database
        .prepare(
          'INSERT INTO browser_hand_overs (id, agent_id, kind, taken_by, host, url, title, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
        )
        .run(row.id, row.agentId, row.kind, row.takenBy, row.host, row.url, row.title, row.createdAt)
    },
    take: (id: string, by: string): void => {
      database.prepare('UPDATE browser_hand_overs SET taken_by = ? WHERE id = ?').run(by, id)
    },
    /** Records that a person is asked to take the browser. */
    ask: (id: string, at: number): void => {
      database
        .prepare('UPDATE browser_hand_overs SET taken_by = NULL, created_at = ? WHERE id = ?')
        .run(at, id)
    },
    /** Removes the hand-over and the waits of its runs. */
    remove: (id: string): void => {
      database.prepare('DELETE FROM browser_hand_overs WHERE id = ?').run(id)
      database.prepare('DELETE FROM browser_waits WHERE hand_over_id = ?').run(id)
    },
    wait: (id: string, runId: string): void => {
      database
        .prepare('INSERT OR IGNORE INTO browser_waits (run_id, hand_over_id) VALUES (?, ?)')
        .run(runId, id)
    },
    waiting: (id: string): readonly string[] =>
      database
        .prepare('SELECT run_id FROM browser_waits WHERE hand_over_id = ? ORDER BY run_id')
        .all(id)
        .map((row) => String(row['run_id'])),
    awaitedBy: (runId: string): readonly string[] =>
      database
        .prepare('SELECT hand_over_id FROM browser_waits WHERE run_id = ?')
        .all(runId)
        .map((row) => String(row['hand_over_id'])),
    forgetRun: (runId: string): void => {
      database.prepare('DELETE FROM browser_waits WHERE run_id = ?').run(runId)
    },
  }
}

export type HandOverTable = ReturnType<typeof createHandOverTable>
