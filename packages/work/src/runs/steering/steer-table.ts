import { originSchema } from '@flotilla/protocol/origin'
import type { Origin } from '@flotilla/protocol/origin'
import { steerStates } from '@flotilla/protocol/steer'
import type { SteerState } from '@flotilla/protocol/steer'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import { jsonColumn } from '@flotilla/foundation/storage'
import type { IdempotencyMark } from '../ledger/run-table.ts'

/** The row of a steer. Times are milliseconds since 1970. */
export interface SteerRecord {
  readonly id: string
  readonly agentId: string
  /** The run that the steer was sent to; null when the agent was idle. */
  readonly runId: string | null
  /** The run of the agent that sent the steer; null for people. */
  readonly parentRunId: string | null
  readonly origin: Origin
  /** The session of the run that the steer may become. */
  readonly session: string
  readonly text: string
  readonly mark: IdempotencyMark | null
  readonly state: SteerState
  readonly takenTurn: number | null
  readonly takenStep: number | null
  readonly becameRunId: string | null
  readonly createdAt: number
  readonly settledAt: number | null
}

const columns =
  'id, agent_id, run_id, parent_run_id, origin, session, text, idempotency_scope, idempotency_key, state, taken_turn, taken_step, became_run_id, created_at, settled_at'

const rowSchema = z.object({
  id: z.string(),
  agent_id: z.string(),
  run_id: z.string().nullable(),
  parent_run_id: z.string().nullable(),
  origin: jsonColumn(originSchema),
  session: z.string(),
  text: z.string(),
  idempotency_scope: z.string().nullable(),
  idempotency_key: z.string().nullable(),
  state: z.enum(steerStates),
  taken_turn: z.number().nullable(),
  taken_step: z.number().nullable(),
  became_run_id: z.string().nullable(),
  created_at: z.number(),
  settled_at: z.number().nullable(),
})

export type SteerTable = ReturnType<typeof createSteerTable>

/** Reads and writes the rows of steers; callers decide. An update of a row in another state returns false. */
export function createSteerTable(database: Database) {
  const many = (where: string, ...values: (string | number)[]): readonly SteerRecord[] =>
    database
      .prepare(`SELECT ${columns} FROM steers WHERE ${where} ORDER BY position`)
      .all(...values)
      .map(parseRow)
  const count = (where: string, value: string): number =>
    Number(database.prepare(`SELECT count(*) AS count FROM steers WHERE ${where}`).get(value)?.['count'] ?? 0)

  return {
    insert: (steer: SteerRecord): void => insertSteer(database, steer),
    find: (id: string): SteerRecord | null => many('id = ?', id)[0] ?? null,
    findByKey: ({ scope, key }: IdempotencyMark): SteerRecord | null =>
      many('idempotency_scope = ? AND idempotency_key = ?', scope, key)[0] ?? null,
    /** Returns steers that were sent to the run, and the steer that became this run. */
    ofRun: (runId: string) => many('run_id = ? OR became_run_id = ?', runId, runId),
    /** Returns steers that were sent to the run, in every state. */
    sentTo: (runId: string) => many('run_id = ?', runId),
    whatBecame: (runId: string): SteerRecord | null => many('became_run_id = ?', runId)[0] ?? null,
    waitingOf: (runId: string) => many("run_id = ? AND state = 'waiting'", runId),
    /** Returns the steers that an agent must get for this turn: an attempt without checkpoint reads them again. */
    ofTurn: (runId: string, turn: number) =>
      many("run_id = ? AND (state = 'waiting' OR (state = 'taken' AND taken_turn = ?))", runId, turn),
    countOf: (runId: string) => count('run_id = ?', runId),
    /** Counts the waiting steers of an agent, each of which may become a run of its lane. */
    waitingInLane: (agentId: string) => count("agent_id = ? AND state = 'waiting'", agentId),
    take: (id: string, taken: { readonly turn: number; readonly step: number; readonly at: number }) =>
      database
        .prepare(
          "UPDATE steers SET state = 'taken', taken_turn = ?, taken_step = ?, settled_at = ? WHERE id = ? AND state = 'waiting'",
        )
        .run(taken.turn, taken.step, taken.at, id).changes === 1,
    /** Records that a restarted turn read the steer after another step. */
    retake: (id: string, taken: { readonly turn: number; readonly step: number }) =>
      database
        .prepare("UPDATE steers SET taken_step = ? WHERE id = ? AND state = 'taken' AND taken_turn = ?")
        .run(taken.step, id, taken.turn).changes === 1,
    giveBack: (id: string, settledAt: number) =>
      database
        .prepare("UPDATE steers SET state = 'returned', settled_at = ? WHERE id = ? AND state = 'waiting'")
        .run(settledAt, id).changes === 1,
    becomeRun: (id: string, end: { readonly becameRunId: string; readonly settledAt: number }) =>
      database
        .prepare(
          "UPDATE steers SET state = 'became-run', became_run_id = ?, settled_at = ? WHERE id = ? AND state = 'waiting'",
        )
        .run(end.becameRunId, end.settledAt, id).changes === 1,
  }
}

function insertSteer(database: Database, steer: SteerRecord): void {
  database
    .prepare(`INSERT INTO steers (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    .run(
      steer.id,
      steer.agentId,
      steer.runId,
      steer.parentRunId,
      JSON.stringify(steer.origin),
      steer.session,
      steer.text,
      steer.mark?.scope ?? null,
      steer.mark?.key ?? null,
      steer.state,
      steer.takenTurn,
      steer.takenStep,
      steer.becameRunId,
      steer.createdAt,
      steer.settledAt,
    )
}

function parseRow(raw: unknown): SteerRecord {
  const row = rowSchema.parse(raw)
  const { idempotency_scope: scope, idempotency_key: key } = row
  return {
    id: row.id,
    agentId: row.agent_id,
    runId: row.run_id,
    parentRunId: row.parent_run_id,
    origin: Object.freeze(row.origin),
    session: row.session,
    text: row.text,
    mark: scope === null || key === null ? null : { scope, key },
    state: row.state,
    takenTurn: row.taken_turn,
    takenStep: row.taken_step,
    becameRunId: row.became_run_id,
    createdAt: row.created_at,
    settledAt: row.settled_at,
  }
}
