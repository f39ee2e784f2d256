import * as z from 'zod'
import type { Journal } from '@flotilla/foundation/journal'
import type { Database } from '@flotilla/foundation/storage'
import { readable } from './ledger-bounds.ts'
import { usdFromNano } from './money.ts'

const rowSchema = z.object({
  agent_id: z.string(),
  run_id: z.string(),
  project: z.string(),
  model: z.string(),
  cost_nano: z.number(),
  unconfirmed_nano: z.number(),
  calls: z.number(),
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
})

const waitingRows = `SELECT agent_id, run_id, project, model, ${[
  'cost_nano',
  'unconfirmed_nano',
  'calls',
  'prompt_tokens',
  'completion_tokens',
]
  .map((column) => `${readable(column)} AS ${column}`)
  .join(', ')} FROM spend_unjournaled LIMIT ?`

/** Maximum audit log rows of one transaction. */
const batchRows = 500

/**
 * Writes to the audit log what was spent since the last entry: one row per run and model and not per call, so that a
 * busy agent cannot fill the log. The sums that wait are in a table, so a crash or retry neither loses nor doubles
 * any. Returns the number of rows.
 */
export function createJournalSpend(deps: {
  readonly database: Database
  readonly journal: Journal
}): () => number {
  const { database, journal } = deps

  function batch(): number {
    return database.transaction(() => {
      const waiting = database
        .prepare(waitingRows)
        .all(batchRows)
        .map((row) => rowSchema.parse(row))
      for (const row of waiting) {
        database
          .prepare(
            'DELETE FROM spend_unjournaled WHERE agent_id = ? AND run_id = ? AND project = ? AND model = ?',
          )
          .run(row.agent_id, row.run_id, row.project, row.model)
        journal.append({
          actor: `agent:${row.agent_id}`,
          action: 'spend.settled',
          subject: row.run_id === '' ? row.agent_id : row.run_id,
          detail: {
            agent: row.agent_id,
            ...(row.project === '' ? {} : { project: row.project }),
            model: row.model,
            cost_usd: usdFromNano(row.cost_nano),
            ...(row.unconfirmed_nano === 0 ? {} : { unconfirmed_usd: usdFromNano(row.unconfirmed_nano) }),
            calls: row.calls,
            prompt_tokens: row.prompt_tokens,
            completion_tokens: row.completion_tokens,
          },
        })
      }
      return waiting.length
    })
  }

  return () => {
    let written = 0
    for (;;) {
      const rows = batch()
      written += rows
      if (rows < batchRows) return written
    }
  }
}
