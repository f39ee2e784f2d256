import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import type { Database } from '../../storage/index.ts'
import { transition } from './agent-record.ts'
import type { AgentBudget, AgentChange, AgentRecord, AgentState } from './agent-record.ts'

/** One agent as it stands: what it is, where its sandbox is, and the id of the start that made that sandbox. */
export interface AgentRow {
  readonly record: AgentRecord
  readonly state: AgentState
  readonly startId: string | null
  /** When it was put away, milliseconds since 1970; null for one that may run. */
  readonly archivedAt: number | null
}

/** What a call writes down before it ends a sandbox: which one. */
export const startMarkSchema = z.strictObject({ start: z.string().nullable() })

export interface AgentTable {
  find(agentId: string): AgentRow | null
  /** Problem `unknown-agent`. */
  require(agentId: string): AgentRow
  /** By id. */
  list(): readonly AgentRow[]
  count(): number
  insert(record: AgentRecord): void
  /** Applies a change of life and returns the new row; a change that the table of transitions refuses is a defect of ours. */
  move(agentId: string, change: AgentChange, startId?: string): AgentRow
  /** Problem `unknown-agent`. */
  setBudget(agentId: string, budget: AgentBudget): void
  /** Problem `unknown-agent`. */
  setProject(agentId: string, project: string | null): void
  /** Problem `unknown-agent`. */
  setArchived(agentId: string, archivedAt: number | null): void
  /** Writes what of the record may change; what is left out stays. */
  change(agentId: string, change: AgentChanges): void
  remove(agentId: string): void
}

export type AgentChanges = Partial<Pick<AgentRecord, 'role' | 'model'>>

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
    state: z.enum(['stopped', 'starting', 'ready', 'failed']),
    state_since: z.number(),
    state_reason: z.string().nullable(),
    start_id: z.string().nullable(),
    archived_at: z.number().nullable(),
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
    state: readState(row.state, row.state_since, row.state_reason),
    startId: row.start_id,
    archivedAt: row.archived_at,
  }))

export function createAgentTable(database: Database): AgentTable {
  /** The model path asks for its agent on every call; nobody else writes these rows. */
  const known = new Map<string, AgentRow>()

  function find(agentId: string): AgentRow | null {
    const found = known.get(agentId)
    if (found) return found
    const row = database.prepare('SELECT * FROM agents WHERE id = ?').get(agentId)
    if (!row) return null
    const parsed = rowSchema.parse(row)
    known.set(agentId, parsed)
    return parsed
  }

  /** With each write: memory follows the row, also when it is rolled back. */
  function forget(agentId: string): void {
    known.delete(agentId)
    database.afterRollback(() => known.delete(agentId))
  }

  function require(agentId: string): AgentRow {
    const row = find(agentId)
    if (!row) throw new Problem('unknown-agent', { detail: 'there is no agent with this id' })
    return row
  }

  function move(agentId: string, change: AgentChange, startId?: string): AgentRow {
    const row = require(agentId)
    const state = transition(row.state, change)
    if (!state) throw new Error(`an agent that is ${row.state.kind} cannot ${change.kind}`)
    database
      .prepare(
        'UPDATE agents SET state = ?, state_since = ?, state_reason = ?, start_id = coalesce(?, start_id) WHERE id = ?',
      )
      .run(
        state.kind,
        state.kind === 'stopped' ? 0 : state.since,
        state.kind === 'failed' ? state.reason : null,
        startId ?? null,
        agentId,
      )
    forget(agentId)
    return require(agentId)
  }

  return {
    find,
    require,
    move,
    list: () =>
      database
        .prepare('SELECT * FROM agents ORDER BY id')
        .all()
        .map((row) => rowSchema.parse(row)),
    count: () => Number(database.prepare('SELECT count(*) AS count FROM agents').get()?.['count'] ?? 0),
    insert: (record) => {
      database
        .prepare(
          `INSERT INTO agents (id, kind, role, model, instructions, budget_daily_usd, budget_monthly_usd,
             project, created_at, state, state_since) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'stopped', 0)`,
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
    setArchived: (agentId, archivedAt) => {
      require(agentId)
      database.prepare('UPDATE agents SET archived_at = ? WHERE id = ?').run(archivedAt, agentId)
      forget(agentId)
    },
    change: (agentId, change) => {
      const { role, model } = { ...require(agentId).record, ...change }
      database.prepare('UPDATE agents SET role = ?, model = ? WHERE id = ?').run(role, model, agentId)
      forget(agentId)
    },
    remove: (agentId) => {
      database.prepare('DELETE FROM agents WHERE id = ?').run(agentId)
      forget(agentId)
    },
  }
}

function readState(kind: AgentState['kind'], since: number, reason: string | null): AgentState {
  if (kind === 'stopped') return { kind }
  if (kind === 'failed') return { kind, since, reason: reason ?? '' }
  return { kind, since }
}

/** Throws the Problem `agent-archived` for an agent that was put away. */
export function refuseArchived(row: AgentRow): void {
  if (row.archivedAt === null) return
  throw new Problem('agent-archived', { detail: `agent ${row.record.id} is archived` })
}
