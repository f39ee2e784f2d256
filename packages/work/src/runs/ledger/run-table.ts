import type { Database } from '@flotilla/foundation/storage'
import type { RunCost, RunRecord } from './run-record.ts'
import { createRunQueries } from './run-queries.ts'
import { readRuns, runColumns, sessionColumn } from './run-row.ts'
import { createRunningMarks } from './running-marks.ts'

/**
 * SQL: true if the session of a run is free. A run that was interrupted within a turn keeps its session, because its
 * checkpoint would overwrite what another run wrote. A waiting run is between turns and keeps none.
 */
const isFree = `(runs.attempt > 1 OR NOT EXISTS (SELECT 1 FROM runs AS cut WHERE cut.agent_id = runs.agent_id AND cut.state = 'queued' AND cut.attempt > 1 AND ${sessionColumn('cut')} = ${sessionColumn('runs')}))`

export interface IdempotencyMark {
  readonly scope: string
  readonly key: string
}

export type RunTable = ReturnType<typeof createRunTable>

/** Reads and writes the rows of runs. Callers make the decisions; every change of state goes through `change-run`. */
export function createRunTable(database: Database) {
  const { one, count } = readRuns(database)
  const marks = createRunningMarks(database)

  return {
    ...createRunQueries(database),
    insert: (run: RunRecord, mark: IdempotencyMark | null) => {
      insertRun(database, run, mark)
      marks.forget(run.agentId)
    },
    replace: (before: RunRecord, after: RunRecord) => {
      const isReplaced = replaceRun(database, before, after)
      marks.forget(before.agentId)
      return isReplaced
    },
    find: (id: string) => one(`SELECT ${runColumns} FROM runs WHERE id = ?`, id),
    findByKey: ({ scope, key }: IdempotencyMark) =>
      one(`SELECT ${runColumns} FROM runs WHERE idempotency_scope = ? AND idempotency_key = ?`, scope, key),
    /** Returns the run that holds the lane; the schema allows only one. */
    runningOf: (agentId: string) =>
      one(`SELECT ${runColumns} FROM runs WHERE agent_id = ? AND state = 'running'`, agentId),
    runningMarkOf: marks.runningMarkOf,
    /** Returns the fencing token of the run; null unless the run is running. */
    runningFenceOf: (id: string): number | null => {
      const row = database.prepare("SELECT fence FROM runs WHERE id = ? AND state = 'running'").get(id)
      return row ? Number(row['fence']) : null
    },
    /**
     * Returns the run that the lane takes next: the oldest queued one whose session is free. A run that was
     * interrupted while executing continues even while proactive work is held, as running work does.
     */
    nextQueued: (agentId: string, now: number, holdsProactive: boolean) =>
      one(
        `SELECT ${runColumns} FROM runs WHERE agent_id = ? AND state = 'queued' AND available_at <= ? AND (proactive <= ? OR attempt > 1) AND ${isFree} ORDER BY queued_since, position LIMIT 1`,
        agentId,
        now,
        holdsProactive ? 0 : 1,
      ),
    /**
     * Restarts the waiting time of runs that a pause held, in their order, so that they do not expire because of it.
     */
    requeueProactive: (agentId: string, now: number): void => {
      database
        .prepare(
          "UPDATE runs SET queued_since = ? WHERE agent_id = ? AND proactive = 1 AND state = 'queued' AND queued_since < ?",
        )
        .run(now, agentId, now)
    },
    /** Returns a time before `now` and before that of every queued run, milliseconds since 1970. */
    headOfLane: (agentId: string, now: number): number => {
      const row = database
        .prepare("SELECT min(queued_since) AS first FROM runs WHERE agent_id = ? AND state = 'queued'")
        .get(agentId)
      return Math.min(Number(row?.['first'] ?? now), now) - 1
    },
    queuedCount: (agentId: string) =>
      count("SELECT count(*) AS count FROM runs WHERE agent_id = ? AND state = 'queued'", agentId),
    /** Counts the queued runs of the agent that no trigger started. */
    requestedCount: (agentId: string) =>
      count(
        "SELECT count(*) AS count FROM runs WHERE agent_id = ? AND state = 'queued' AND proactive = 0",
        agentId,
      ),
    /** Agents whose lane has work now. */
    agentsWithWork: (now: number): readonly string[] =>
      database
        .prepare(
          "SELECT agent_id FROM runs WHERE state = 'running' UNION SELECT agent_id FROM runs WHERE state = 'queued' AND available_at <= ?",
        )
        .all(now)
        .map((row) => String(row['agent_id'])),
    renewLease: (id: string, fence: number, until: number): boolean =>
      database
        .prepare("UPDATE runs SET lease_until = ? WHERE id = ? AND fence = ? AND state = 'running'")
        .run(until, id, fence).changes === 1,
    addCost: (id: string, cost: RunCost): void => {
      const { costUsd, tokens, unconfirmedUsd = 0, unconfirmedTokens = 0, reportedTokens = 0 } = cost
      const max = Number.MAX_SAFE_INTEGER
      const [used, unconfirmed] = [tokens, unconfirmedTokens].map((one) => Math.min(one, max))
      database
        .prepare(
          `UPDATE runs SET cost_usd = cost_usd + ?, tokens_used = min(tokens_used + ?, ?),
            unconfirmed_usd = unconfirmed_usd + ?, unconfirmed_tokens = min(unconfirmed_tokens + ?, ?),
            reported_tokens = min(reported_tokens + ?, ?) WHERE id = ?`,
        )
        .run(costUsd, used ?? 0, max, unconfirmedUsd, unconfirmed ?? 0, max, reportedTokens, max, id)
    },
    /** Adds tokens that a harness reported. Returns by how many all its reports exceed the tokens counted for the run. */
    addReport: (id: string, tokens: number): number =>
      Number(
        database
          .prepare(
            `UPDATE runs SET harness_tokens = min(harness_tokens + ?, 9007199254740991) WHERE id = ?
              RETURNING harness_tokens - min(tokens_used, 9007199254740991) AS excess`,
          )
          .get(tokens, id)?.['excess'] ?? 0,
      ),
    /** Returns the agent's next fencing token, which rises with each dispatch, so that no two attempts share one. */
    nextFence: (agentId: string): number =>
      Number(
        database
          .prepare(
            'INSERT INTO agent_fences (agent_id, fence) VALUES (?, 1) ON CONFLICT (agent_id) DO UPDATE SET fence = fence + 1 RETURNING fence',
          )
          .get(agentId)?.['fence'],
      ),
  }
}

function insertRun(database: Database, run: RunRecord, mark: IdempotencyMark | null): void {
  database
    .prepare(
      'INSERT INTO runs (id, agent_id, kind, origin, input, state, attempt, turn, fence, parent_id, task_id, depth, proactive, idempotency_scope, idempotency_key, budget_usd, budget_tokens, trace_id, created_at, queued_since, available_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    )
    .run(
      run.id,
      run.agentId,
      run.kind,
      JSON.stringify(run.origin),
      JSON.stringify(run.input),
      run.state,
      run.attempt,
      run.turn,
      run.fence,
      run.parentId,
      run.taskId,
      run.depth,
      run.proactive ? 1 : 0,
      mark?.scope ?? null,
      mark?.key ?? null,
      run.budgetUsd,
      run.budgetTokens,
      run.traceId,
      run.createdAt,
      run.queuedSince,
      run.availableAt,
    )
}

/** Writes the changed fields if state and fencing token are still those of `before`. Returns whether it did so. */
function replaceRun(database: Database, before: RunRecord, after: RunRecord): boolean {
  const { changes } = database
    .prepare(
      'UPDATE runs SET state = ?, attempt = ?, turn = ?, fence = ?, lease_until = ?, queued_since = ?, available_at = ?, waiting_since = ?, started_at = ?, turn_started_at = ?, ended_at = ?, interim_text = ?, outcome = ? WHERE id = ? AND state = ? AND fence = ?',
    )
    .run(
      after.state,
      after.attempt,
      after.turn,
      after.fence,
      after.leaseUntil,
      after.queuedSince,
      after.availableAt,
      after.waitingSince,
      after.startedAt,
      after.turnStartedAt,
      after.endedAt,
      after.interimText,
      after.outcome === null ? null : JSON.stringify(after.outcome),
      before.id,
      before.state,
      before.fence,
    )
  return changes === 1
}
