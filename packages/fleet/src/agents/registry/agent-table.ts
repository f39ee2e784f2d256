import { agentStates } from '@flotilla/protocol/agent-lifecycle'
import { noSuchAgent } from '@flotilla/protocol/no-such-agent'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import { jsonColumn } from '@flotilla/foundation/storage'
import { restOf, restingStates, sinceOf, transition, troubleOf } from './agent-state.ts'
import type { AgentEvent, AgentState, RestingState } from './agent-state.ts'
import type { Losses } from './restart-backoff.ts'
import type { AgentBudget, AgentRecord } from './agent-record.ts'

/** One agent: its record, its lifecycle state, and the id of the start that created its sandbox. */
export interface AgentRow {
  readonly record: AgentRecord
  readonly state: AgentState
  readonly startId: string | null
  readonly losses: Losses
}

/** A stored change of an agent's state. */
export interface AgentMove {
  readonly agentId: string
  readonly from: AgentState
  readonly to: AgentState
}

/** A repeatable call records this before it ends a sandbox: the id of the start that created the sandbox. */
export const startMarkSchema = z.strictObject({ start: z.string().nullable() })

export interface AgentTable {
  find(agentId: string): AgentRow | null
  /** The agent's row. Problem `unknown-agent`. */
  require(agentId: string): AgentRow
  /** All agents, ordered by id. */
  list(): readonly AgentRow[]
  count(): number
  insert(record: AgentRecord): void
  /** Applies a lifecycle event and returns the new row; throws for a refused event, which is a bug in the mesh. */
  move(agentId: string, event: AgentEvent, startId?: string): AgentRow
  setLosses(agentId: string, losses: Losses): void
  /** Writes the agent's budget. Problem `unknown-agent`. */
  setBudget(agentId: string, budget: AgentBudget): void
  /** Writes the agent's project, or null for none. Problem `unknown-agent`. */
  setProject(agentId: string, project: string | null): void
  /** Writes the mutable fields of the record; omitted fields are unchanged. */
  change(agentId: string, change: AgentChanges): void
  remove(agentId: string): void
}

export type AgentChanges = Partial<Pick<AgentRecord, 'role' | 'model' | 'instructions'>>

const rowSchema = z
  .object({
    id: z.string(),
    kind: z.enum(['operator', 'worker']),
    role: z.string(),
    model: z.string().nullable(),
    instructions: z.string(),
    budget_daily_usd: z.number(),
    budget_monthly_usd: z.number(),
    project: z.string().nullable(),
    created_at: z.number(),
    state: z.enum(agentStates),
    state_since: z.number(),
    state_reason: z.string().nullable(),
    state_due: z.number().nullable(),
    state_to: z.enum(restingStates).nullable(),
    misses: z.number(),
    restarts: jsonColumn(z.array(z.number())),
    quarantined_at: z.number().nullable(),
    start_id: z.string().nullable(),
  })
  .transform((row): AgentRow => ({
    record: {
      id: row.id,
      kind: row.kind,
      role: row.role,
      model: row.model,
      instructions: row.instructions,
      budget: { dailyUsd: row.budget_daily_usd, monthlyUsd: row.budget_monthly_usd },
      project: row.project,
      createdAt: row.created_at,
    },
    state: readState(row),
    startId: row.start_id,
    losses: { restarts: row.restarts, quarantinedAt: row.quarantined_at },
  }))

/** Opens the table of agents. `onMoved` is called inside the transaction of each state change. */
export function createAgentTable(
  database: Database,
  onMoved: (move: AgentMove) => void = () => {},
): AgentTable {
  /** Rows by agent id, cached as the model gateway reads the agent on every call; only this table writes them. */
  const known = new Map<string, AgentRow>()
  /** The sorted ids of all agents, cached because lists read them often; null after an agent was added or removed. */
  let ids: readonly string[] | null = null

  function find(agentId: string): AgentRow | null {
    const found = known.get(agentId)
    if (found) return found
    const row = database.prepare('SELECT * FROM agents WHERE id = ?').get(agentId)
    if (!row) return null
    const parsed = rowSchema.parse(row)
    known.set(agentId, parsed)
    return parsed
  }

  /** Drops the cached row at each write, and again if the write is rolled back. */
  function forget(agentId: string): void {
    known.delete(agentId)
    database.afterRollback(() => known.delete(agentId))
  }

  function forgetIds(): void {
    ids = null
    database.afterRollback(() => (ids = null))
  }

  function allIds(): readonly string[] {
    ids ??= database
      .prepare('SELECT id FROM agents ORDER BY id')
      .all()
      .map((row) => String(row['id']))
    return ids
  }

  function require(agentId: string): AgentRow {
    const row = find(agentId)
    if (!row) throw noSuchAgent(agentId, allIds())
    return row
  }

  function move(agentId: string, event: AgentEvent, startId?: string): AgentRow {
    const row = require(agentId)
    const state = transition(row.state, event)
    if (!state) throw new Error(`an agent that is ${row.state.kind} cannot ${event.kind}`)
    if (state === row.state && startId === undefined) return row
    return database.transaction(() => {
      database
        .prepare(
          `UPDATE agents SET state = ?, state_since = ?, state_reason = ?, state_due = ?, state_to = ?, misses = ?,
             start_id = coalesce(?, start_id) WHERE id = ?`,
        )
        .run(
          state.kind,
          sinceOf(state) ?? 0,
          state.kind === 'stopping' ? state.reason : troubleOf(state),
          'dueAt' in state ? state.dueAt : null,
          state.kind === 'stopping' ? state.to : null,
          state.kind === 'unhealthy' ? state.misses : 0,
          startId ?? null,
          agentId,
        )
      forget(agentId)
      if (state.kind !== row.state.kind) onMoved({ agentId, from: row.state, to: state })
      return require(agentId)
    })
  }

  return {
    find,
    require,
    move,
    list: () => allIds().map(require),
    count: () => Number(database.prepare('SELECT count(*) AS count FROM agents').get()?.['count'] ?? 0),
    insert: (record) => {
      database
        .prepare(
          `INSERT INTO agents (id, kind, role, model, instructions, budget_daily_usd, budget_monthly_usd,
             project, created_at, state, state_since) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'created', 0)`,
        )
        .run(
          record.id,
          record.kind,
          record.role,
          record.model,
          record.instructions,
          record.budget.dailyUsd,
          record.budget.monthlyUsd,
          record.project,
          record.createdAt,
        )
      forget(record.id)
      forgetIds()
    },
    setBudget: (agentId, { dailyUsd, monthlyUsd }) => {
      require(agentId)
      database
        .prepare('UPDATE agents SET budget_daily_usd = ?, budget_monthly_usd = ? WHERE id = ?')
        .run(dailyUsd, monthlyUsd, agentId)
      forget(agentId)
    },
    setProject: (agentId, project) => {
      require(agentId)
      database.prepare('UPDATE agents SET project = ? WHERE id = ?').run(project, agentId)
      forget(agentId)
    },
    setLosses: (agentId, { restarts, quarantinedAt }) => {
      database
        .prepare('UPDATE agents SET restarts = ?, quarantined_at = ? WHERE id = ?')
        .run(JSON.stringify(restarts), quarantinedAt, agentId)
      forget(agentId)
    },
    change: (agentId, change) => {
      const { role, model, instructions } = { ...require(agentId).record, ...change }
      database
        .prepare('UPDATE agents SET role = ?, model = ?, instructions = ? WHERE id = ?')
        .run(role, model, instructions, agentId)
      forget(agentId)
    },
    remove: (agentId) => {
      database.prepare('DELETE FROM agents WHERE id = ?').run(agentId)
      forget(agentId)
      forgetIds()
    },
  }
}

function readState(row: {
  readonly state: AgentState['kind']
  readonly state_since: number
  readonly state_reason: string | null
  readonly state_due: number | null
  readonly state_to: RestingState | null
  readonly misses: number
}): AgentState {
  const { state: kind, state_since: since } = row
  const reason = row.state_reason ?? ''
  switch (kind) {
    case 'created':
      return { kind }
    case 'unhealthy':
      return { kind, since, misses: row.misses, reason }
    case 'stopping':
      return { kind, since, to: row.state_to ?? 'stopped', reason }
    case 'restarting':
    case 'quarantined':
      return { kind, since, reason, dueAt: row.state_due ?? since }
    case 'starting':
    case 'running':
    case 'stopped':
    case 'hibernated':
    case 'archived':
    case 'deleted':
    default:
      return { kind, since }
  }
}

/** Returns true for an agent that is archived or being archived; false for an agent that is being deleted. */
export function isArchived({ state }: AgentRow): boolean {
  return restOf(state) === 'archived'
}

/** Throws the Problem `unknown-agent` for an agent that is being deleted. */
export function refuseDeleted({ record, state }: AgentRow): void {
  if (restOf(state) !== 'deleted') return
  throw new Problem('unknown-agent', { detail: `agent ${record.id} is being deleted` })
}

/** Throws the Problem `agent-archived` for an archived agent, and `unknown-agent` for one that is being deleted. */
export function refuseArchived(row: AgentRow): void {
  refuseDeleted(row)
  if (!isArchived(row)) return
  throw new Problem('agent-archived', { detail: `agent ${row.record.id} is archived` })
}
