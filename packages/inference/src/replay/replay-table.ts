import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'

/** Which recorded turn a run replays. */
export interface Replay {
  readonly runId: string
  readonly ofRun: string
  /** Index of the replayed turn. */
  readonly turn: number
  /** Index of the first step that another model answers; null for a replay, in which no other model answers. */
  readonly until: number | null
  readonly model: string | null
}

export interface ReplayTable {
  find(runId: string): Replay | null
  insert(replay: Replay): void
}

const rowSchema = z
  .object({
    run_id: z.string(),
    of_run: z.string(),
    turn: z.number(),
    until: z.number().nullable(),
    model: z.string().nullable(),
  })
  .transform((row): Replay => ({
    runId: row.run_id,
    ofRun: row.of_run,
    turn: row.turn,
    until: row.until,
    model: row.model,
  }))

/** How many look-ups are cached, because every model call makes one; a dropped entry costs a database query. */
const knownMax = 1000

export function createReplayTable(database: Database): ReplayTable {
  const known = new Map<string, Replay | null>()
  return {
    find: (runId) => {
      const found = known.get(runId)
      if (found !== undefined) return found
      const row = database.prepare('SELECT * FROM replays WHERE run_id = ?').get(runId)
      const replay = row ? rowSchema.parse(row) : null
      if (known.size >= knownMax) known.clear()
      known.set(runId, replay)
      return replay
    },
    insert: ({ runId, ofRun, turn, until, model }) => {
      database
        .prepare('INSERT INTO replays (run_id, of_run, turn, until, model) VALUES (?, ?, ?, ?, ?)')
        .run(runId, ofRun, turn, until, model)
      known.delete(runId)
      database.afterRollback(() => known.delete(runId))
    },
  }
}
