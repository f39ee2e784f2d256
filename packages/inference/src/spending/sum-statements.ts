import * as z from 'zod'
import { readable, summed } from './ledger-bounds.ts'

const sums = `
  ${summed("CASE state WHEN 'open' THEN reserved_nano ELSE 0 END")} AS open_nano,
  ${summed("CASE state WHEN 'settled' THEN cost_nano ELSE 0 END")} AS spent_nano,
  ${summed("CASE WHEN state = 'settled' AND unconfirmed IS NOT NULL THEN cost_nano ELSE 0 END")} AS unconfirmed_nano,
  sum(state = 'settled') AS calls,
  ${summed("CASE state WHEN 'settled' THEN prompt_tokens ELSE 0 END")} AS prompt,
  ${summed("CASE state WHEN 'settled' THEN completion_tokens ELSE 0 END")} AS completion`

const totalColumns = `scope, period, ${['open_nano', 'spent_nano', 'unconfirmed_nano', 'calls', 'tokens'].map(named).join(', ')}`

function named(column: string): string {
  return `${readable(column)} AS ${column}`
}

/** Statements that read the sums computed from the calls, and the stored sums. */
export const sql = {
  firstOpenDay: `SELECT min(day) AS day FROM spend WHERE state = 'open'`,
  days: `SELECT agent_id, coalesce(project, '') AS project, model, day, ${sums} FROM spend
    WHERE day >= ? GROUP BY 1, 2, 3, 4`,
  runs: `SELECT run_id AS id, ${sums} FROM spend
    WHERE run_id IS NOT NULL GROUP BY 1 HAVING max(day) >= ?`,
  tasks: `SELECT task_id AS id, ${sums} FROM spend
    WHERE task_id IS NOT NULL GROUP BY 1 HAVING max(day) >= ?`,
  periods: `SELECT ${totalColumns} FROM spend_total WHERE period >= ?`,
  total: `SELECT ${totalColumns} FROM spend_total WHERE scope = ? AND period = ''`,
  holding: `SELECT ${totalColumns} FROM spend_total
    WHERE open_nano <> 0 OR spent_nano < 0 OR unconfirmed_nano < 0 OR calls < 0 OR tokens < 0`,
  daily: `SELECT day, agent_id, project, model, ${['cost_nano', 'unconfirmed_nano', 'calls', 'prompt_tokens', 'completion_tokens'].map(named).join(', ')}
    FROM spend_daily
    WHERE day >= ?`,
} as const

/** Statements that scan the calls themselves: one pass each, so that many runs do not delay a start. */
export const checkedStatements: readonly string[] = [sql.days, sql.runs, sql.tasks]

const counted = {
  open_nano: z.number(),
  spent_nano: z.number(),
  unconfirmed_nano: z.number(),
  calls: z.number(),
}
export const totalSchema = z.object({ scope: z.string(), period: z.string(), ...counted, tokens: z.number() })
const sumSchema = z.object({ ...counted, prompt: z.number(), completion: z.number() })
export const daySchema = sumSchema.extend({
  agent_id: z.string(),
  project: z.string(),
  model: z.string(),
  day: z.string(),
})
export const nestSchema = sumSchema.extend({ id: z.string() })
export const dailySchema = z.object({
  day: z.string(),
  agent_id: z.string(),
  project: z.string(),
  model: z.string(),
  cost_nano: z.number(),
  unconfirmed_nano: z.number(),
  calls: z.number(),
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
})

export type Sum = z.infer<typeof sumSchema>
