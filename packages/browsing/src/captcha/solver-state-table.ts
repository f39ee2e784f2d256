import { readJson } from '@flotilla/foundation/intake'
import { jsonLimits } from '@flotilla/protocol/limits'
import type { Database } from '@flotilla/foundation/storage'
import { freshSolverState, solverStateSchema } from './solver-state.ts'
import type { SolverState } from './solver-state.ts'

/** The state of the solver in one database row, so that a restart does not reset the hourly and daily limits. */
export interface SolverStateTable {
  read(): SolverState
  /** Joins the caller's transaction. */
  write(state: SolverState): void
}

export function createSolverStateTable(database: Database): SolverStateTable {
  return {
    read: () => {
      const row = database.prepare('SELECT state FROM captcha_solver WHERE id = 1').get()
      return row === undefined
        ? freshSolverState
        : solverStateSchema.parse(readJson(String(row['state']), jsonLimits.body))
    },
    write: (state) => {
      database
        .prepare(
          'INSERT INTO captcha_solver (id, state) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state',
        )
        .run(JSON.stringify(state))
    },
  }
}
