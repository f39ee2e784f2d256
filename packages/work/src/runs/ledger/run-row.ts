import { originSchema } from '@flotilla/protocol/origin'
import { runInputSchema, runKinds, runOutcomeSchema, runStates } from '@flotilla/protocol/run'
import * as z from 'zod'
import { jsonColumn } from '@flotilla/foundation/storage'
import type { Database } from '@flotilla/foundation/storage'
import type { RunRecord } from './run-record.ts'

/**
 * The columns of a run, for every SELECT. The token count is capped, because earlier releases may have stored a
 * number that is too large to read.
 */
export const runColumns =
  'id, agent_id, kind, origin, input, state, attempt, turn, fence, lease_until, parent_id, task_id, depth, proactive, budget_usd, budget_tokens, trace_id, created_at, queued_since, available_at, waiting_since, started_at, turn_started_at, ended_at, interim_text, outcome, min(tokens_used, 9007199254740991) AS tokens_used, cost_usd, unconfirmed_usd, min(unconfirmed_tokens, 9007199254740991) AS unconfirmed_tokens, reported_tokens'

/** SQL for the session of a row, equal to `sessionOf`. */
export const sessionColumn = (row: string) =>
  `coalesce(json_extract(${row}.input, '$.session'), CASE ${row}.kind WHEN 'task' THEN 'task:' || ${row}.task_id WHEN 'heartbeat' THEN 'heartbeat' ELSE ${row}.id END)`

const rowSchema = z.object({
  id: z.string(),
  agent_id: z.string(),
  kind: z.enum(runKinds),
  origin: jsonColumn(originSchema),
  input: jsonColumn(runInputSchema),
  state: z.enum(runStates),
  attempt: z.number(),
  turn: z.number(),
  fence: z.number(),
  lease_until: z.number().nullable(),
  parent_id: z.string().nullable(),
  task_id: z.string().nullable(),
  depth: z.number(),
  proactive: z.number(),
  budget_usd: z.number().nullable(),
  budget_tokens: z.number().nullable(),
  trace_id: z.string(),
  created_at: z.number(),
  queued_since: z.number(),
  available_at: z.number(),
  waiting_since: z.number().nullable(),
  started_at: z.number().nullable(),
  turn_started_at: z.number().nullable(),
  ended_at: z.number().nullable(),
  interim_text: z.string().nullable(),
  outcome: jsonColumn(runOutcomeSchema).nullable(),
  tokens_used: z.number(),
  cost_usd: z.number(),
  unconfirmed_usd: z.number(),
  unconfirmed_tokens: z.number(),
  reported_tokens: z.number(),
})

/** Parses a row of a run. Throws when the row does not match the schema. */
function parseRunRow(raw: unknown): RunRecord {
  const row = rowSchema.parse(raw)
  return {
    id: row.id,
    agentId: row.agent_id,
    kind: row.kind,
    origin: Object.freeze(row.origin),
    input: row.input,
    state: row.state,
    attempt: row.attempt,
    turn: row.turn,
    fence: row.fence,
    leaseUntil: row.lease_until,
    parentId: row.parent_id,
    taskId: row.task_id,
    depth: row.depth,
    proactive: row.proactive === 1,
    budgetUsd: row.budget_usd,
    budgetTokens: row.budget_tokens,
    traceId: row.trace_id,
    createdAt: row.created_at,
    queuedSince: row.queued_since,
    availableAt: row.available_at,
    waitingSince: row.waiting_since,
    startedAt: row.started_at,
    turnStartedAt: row.turn_started_at,
    endedAt: row.ended_at,
    interimText: row.interim_text,
    outcome: row.outcome,
    tokensUsed: row.tokens_used,
    costUsd: row.cost_usd,
    unconfirmedUsd: row.unconfirmed_usd,
    unconfirmedTokens: row.unconfirmed_tokens,
    reportedTokens: row.reported_tokens,
  }
}

/** Reads rows of runs. */
export function readRuns(database: Database) {
  return {
    parsed: parseRunRow,
    one: (sql: string, ...values: (string | number)[]): RunRecord | null => {
      const row = database.prepare(sql).get(...values)
      return row ? parseRunRow(row) : null
    },
    many: (sql: string, ...values: (string | number)[]): readonly RunRecord[] =>
      database
        .prepare(sql)
        .all(...values)
        .map(parseRunRow),
    count: (sql: string, ...values: string[]): number =>
      Number(database.prepare(sql).get(...values)?.['count'] ?? 0),
  }
}
