import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'

export interface Note {
  readonly id: string
  readonly agentId: string
  readonly message: string
  readonly createdAt: number
}

export interface NoteTable {
  /** Inserts a note and returns it; returns null if the agent used this key before. */
  insert(note: Note, idempotencyKey: string | null): Note | null
  findByKey(agentId: string, idempotencyKey: string): Note | null
  /** Returns the notes, newest first. */
  list(limit: number): readonly Note[]
  /** Keeps at most `kept` notes: above that number, deletes the oldest note of the agent with the most notes. */
  trim(kept: number): void
}

const rowSchema = z
  .object({ id: z.string(), agent_id: z.string(), message: z.string(), created_at: z.number() })
  .transform((row): Note => ({
    id: row.id,
    agentId: row.agent_id,
    message: row.message,
    createdAt: row.created_at,
  }))

export function createNoteTable(database: Database): NoteTable {
  return {
    insert: (note, idempotencyKey) => {
      const row = database
        .prepare(
          `INSERT INTO notes (id, agent_id, message, idempotency_key, created_at) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT (agent_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING RETURNING *`,
        )
        .get(note.id, note.agentId, note.message, idempotencyKey, note.createdAt)
      return row ? rowSchema.parse(row) : null
    },
    findByKey: (agentId, idempotencyKey) => {
      const row = database
        .prepare('SELECT * FROM notes WHERE agent_id = ? AND idempotency_key = ?')
        .get(agentId, idempotencyKey)
      return row ? rowSchema.parse(row) : null
    },
    list: (limit) =>
      database
        .prepare('SELECT * FROM notes ORDER BY seq DESC LIMIT ?')
        .all(limit)
        .map((row) => rowSchema.parse(row)),
    trim: (kept) => {
      database
        .prepare(
          `DELETE FROM notes WHERE (SELECT count(*) FROM notes) > ? AND seq = (
             SELECT min(seq) FROM notes GROUP BY agent_id ORDER BY count(*) DESC, min(seq) LIMIT 1)`,
        )
        .run(kept)
    },
  }
}
