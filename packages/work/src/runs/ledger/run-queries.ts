import { originSchema } from '@flotilla/protocol/origin'
import type { Origin } from '@flotilla/protocol/origin'
import { runStates } from '@flotilla/protocol/run'
import type { RunState } from '@flotilla/protocol/run'
import type { Database } from '@flotilla/foundation/storage'
import { jsonColumn } from '@flotilla/foundation/storage'
import type { RunRecord } from './run-record.ts'
import { readRuns, runColumns, sessionColumn } from './run-row.ts'

/** Maximum number of a run's ancestors that are read; hand-offs cannot create more. */
const chainMax = 32

/** SQL that returns the run `?` and all its descendants. */
const tree =
  'WITH RECURSIVE tree (id) AS (VALUES (?) UNION SELECT runs.id FROM runs JOIN tree ON runs.parent_id = tree.id)'

/** SQL condition for origins of people who are not owners; the origin of an owner has no role. */
const isStranger = "json_extract(origin, '$.kind') = 'human' AND json_extract(origin, '$.role') IS NOT NULL"
const strangers = `SELECT origin FROM runs WHERE agent_id = :agent AND ${sessionColumn('runs')} = :session AND ${isStranger} UNION SELECT origin FROM steers WHERE agent_id = :agent AND session = :session AND ${isStranger}`

const originColumn = jsonColumn(originSchema)

/** Queries over runs: families, overdue runs, and pages for people. */
export function createRunQueries(database: Database) {
  const { one, many, count } = readRuns(database)

  return {
    /** Returns queued or running runs of an agent that a pause holds, oldest first. */
    proactiveOf: (agentId: string) =>
      many(
        `SELECT ${runColumns} FROM runs WHERE agent_id = ? AND proactive = 1 AND state IN ('queued', 'running') ORDER BY position`,
        agentId,
      ),
    /** Returns queued or running heartbeats of an agent, oldest first, but none that waits for handed-off work. */
    heartbeatsUnderWay: (agentId: string) =>
      many(
        `SELECT ${runColumns} FROM runs WHERE agent_id = ? AND kind = 'heartbeat' AND state IN ('queued', 'running') ORDER BY position`,
        agentId,
      ),
    /**
     * Returns true if a chat or task of the agent was submitted or ended since the last started heartbeat was
     * submitted, or if no heartbeat ever started. Calls of tools without a model do not count.
     */
    actedSinceHeartbeat: (agentId: string): boolean => {
      const last = one(
        `SELECT ${runColumns} FROM runs WHERE agent_id = ? AND kind = 'heartbeat' AND started_at IS NOT NULL ORDER BY position DESC LIMIT 1`,
        agentId,
      )
      if (!last) return true
      const newer = database
        .prepare(
          `SELECT 1 FROM runs WHERE agent_id = ? AND kind IN ('chat', 'task') AND (position > (SELECT position FROM runs WHERE id = ?) OR ended_at > ?) LIMIT 1`,
        )
        .get(agentId, last.id, last.createdAt)
      return newer !== undefined
    },
    /** Returns the run that uses a session now or will continue in it. */
    runIn: (agentId: string, name: string) =>
      one(
        `SELECT ${runColumns} FROM runs WHERE agent_id = ? AND (state IN ('running', 'waiting') OR (state = 'queued' AND (attempt > 1 OR turn > 0))) AND ${sessionColumn('runs')} = ? ORDER BY position LIMIT 1`,
        agentId,
        name,
      ),
    /** Returns people who are not owners and whose runs or steers put messages into the session. */
    strangersIn: (agentId: string, name: string): readonly Origin[] =>
      database
        .prepare(strangers)
        .all({ agent: agentId, session: name })
        .map((row) => originColumn.parse(row['origin'])),
    leaseDead: (now: number) =>
      many(
        `SELECT ${runColumns} FROM runs WHERE state = 'running' AND (lease_until IS NULL OR lease_until <= ?)`,
        now,
      ),
    turnsBegunBefore: (then: number) =>
      many(`SELECT ${runColumns} FROM runs WHERE state = 'running' AND turn_started_at <= ?`, then),
    queuedBefore: (then: number) =>
      many(`SELECT ${runColumns} FROM runs WHERE state = 'queued' AND queued_since <= ?`, then),
    waitingBefore: (then: number) =>
      many(`SELECT ${runColumns} FROM runs WHERE state = 'waiting' AND waiting_since <= ?`, then),
    /** Returns the run and its ancestors, nearest first. */
    chainOf: (id: string): readonly RunRecord[] => {
      const chain: RunRecord[] = []
      for (let next: string | null = id; next !== null && chain.length <= chainMax;) {
        const run = one(`SELECT ${runColumns} FROM runs WHERE id = ?`, next)
        if (!run) break
        chain.push(run)
        next = run.parentId
      }
      return chain
    },
    /** The run and all its descendants. */
    treeOf: (id: string): readonly string[] =>
      database
        .prepare(`${tree} SELECT id FROM tree`)
        .all(id)
        .map((row) => String(row['id'])),
    /** Returns the tokens and the cost of the run and all its descendants. */
    usedBy: (id: string): { readonly tokens: number; readonly costUsd: number } => {
      const row = database
        .prepare(
          `${tree} SELECT min(total(tokens_used), 9007199254740991) AS tokens, total(cost_usd) AS cost FROM runs WHERE id IN tree`,
        )
        .get(id)
      return { tokens: Number(row?.['tokens'] ?? 0), costUsd: Number(row?.['cost'] ?? 0) }
    },
    laneOf: (agentId: string) => ({
      busy: count("SELECT count(*) AS count FROM runs WHERE agent_id = ? AND state = 'running'", agentId) > 0,
      queued: count("SELECT count(*) AS count FROM runs WHERE agent_id = ? AND state = 'queued'", agentId),
      waiting: count("SELECT count(*) AS count FROM runs WHERE agent_id = ? AND state = 'waiting'", agentId),
    }),
    /** Returns the ids of the run's descendants that have not ended. */
    openBelow: (id: string): readonly string[] =>
      database
        .prepare(
          `${tree} SELECT id FROM runs WHERE id IN tree AND id <> ? AND state IN ('queued', 'running', 'waiting') ORDER BY position`,
        )
        .all(id, id)
        .map((row) => String(row['id'])),
    /** Lists runs of one agent or of all, newest first. */
    list: ({ agentId, limit }: { readonly agentId?: string; readonly limit: number }) =>
      agentId === undefined
        ? many(`SELECT ${runColumns} FROM runs ORDER BY position DESC LIMIT ?`, limit)
        : many(
            `SELECT ${runColumns} FROM runs WHERE agent_id = ? ORDER BY position DESC LIMIT ?`,
            agentId,
            limit,
          ),
    countByState: (): Record<RunState, number> => countStates(database),
    /** Counts the runs of one agent that ended since `then`, by state; states without runs are left out. */
    endedSince: (agentId: string, then: number): Readonly<Record<string, number>> =>
      Object.fromEntries(
        database
          .prepare(
            'SELECT state, count(*) AS count FROM runs WHERE agent_id = ? AND ended_at >= ? GROUP BY state ORDER BY state',
          )
          .all(agentId, then)
          .map((row) => [String(row['state']), Number(row['count'])]),
      ),
  }
}

function countStates(database: Database): Record<RunState, number> {
  const counts = database.prepare('SELECT state, count(*) AS count FROM runs GROUP BY state').all()
  const byState = new Map(counts.map((row) => [String(row['state']), Number(row['count'])]))
  const entries = runStates.map((state) => [state, byState.get(state) ?? 0] as const)
  return Object.fromEntries(entries) as Record<RunState, number>
}
