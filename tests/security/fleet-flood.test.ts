import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { limits } from '@flotilla/protocol/limits'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentAtWork, knock } from '../support/agent-at-work.ts'
import type { AgentAtWork } from '../support/agent-at-work.ts'
import { startFloodedMesh } from '../support/flooded-mesh.ts'
import type { FloodedMesh } from '../support/flooded-mesh.ts'

const agents = 950
const projects = 100
const lister = 'lister'
const text = (chars: number) => 'x'.repeat(chars)

let flooded: FloodedMesh
let agent: AgentAtWork
let operator: AgentAtWork

/**
 * Fills the database with a fleet near its limit: each agent has long instructions, runs, messages, capabilities and
 * a project.
 */
function fill(database: DatabaseSync, home: string): void {
  const each = (sql: string, ...more: (string | number)[]) => {
    const statement = database.prepare(sql)
    for (let at = 0; at < agents; at++) statement.run(`agent${at}`, ...more)
  }
  const projectOf = `'project' || (CAST(substr(?1, 6) AS INTEGER) % ${projects})`
  const project = database.prepare(
    `INSERT INTO projects (name, goal, criteria, created_at, updated_at) VALUES (?, ?, '[]', 0, 0)`,
  )
  for (let at = 0; at < projects; at++) project.run(`project${at}`, text(2000))
  each(
    `INSERT INTO agents (id, kind, role, instructions, budget_daily_usd, budget_monthly_usd, project, created_at, state, state_since)
     VALUES (?1, 'worker', ?2, ?3, 1, 10, ${projectOf}, 0, 'stopped', 0)`,
    text(500),
    text(limits.workspaceFileMaxChars['INSTRUCTIONS.md']),
  )
  for (let at = 0; at < 20; at++) {
    each(`INSERT INTO agent_capabilities (agent_id, name, declared_at) VALUES (?, 'capability${at}', 0)`)
    each(
      `INSERT INTO runs (id, agent_id, kind, origin, input, state, attempt, turn, fence, depth, trace_id, created_at, queued_since, available_at, ended_at)
       VALUES (?1 || ' ${at}', ?1, 'chat', '{"kind":"human","channel":"cli"}', ?2, 'failed', 1, 1, 1, 0, 't', unixepoch() * 1000, 0, 0, unixepoch() * 1000)`,
      text(2000),
    )
    each(
      `INSERT INTO messages (id, sender, recipient, text, asking_run_id, root_run_id, state, created_at)
       VALUES (?1 || ' ${at}', ?1, '${lister}', ?2, 'r', 'r', 'sent', 0)`,
      text(2000),
    )
    each(
      `INSERT INTO tasks (id, creator, assignee, title, description, data, state, origin, created_at, updated_at, project)
       VALUES (?1 || ' ${at}', ?1, ?1, 't', ?2, '{}', 'working', '{"kind":"agent","channel":"mesh"}', 1, 1, ${projectOf})`,
      text(2000),
    )
  }
  each(`INSERT INTO mcp_servers (agent_id, servers) VALUES (?, '{"wiki":{"url":"http://127.0.0.1:9/mcp"}}')`)
  const path = join(home, 'config', 'permissions.json')
  const file = JSON.parse(readFileSync(path, 'utf8')) as { permissions: Record<string, object> }
  const record = file.permissions['second']
  for (let at = 0; at < agents; at++)
    file.permissions[`agent${at}`] = { ...record, can_message: ['worker-*', 'agent1*', 'second'] }
  writeFileSync(path, JSON.stringify(file))
}

beforeAll(async () => {
  flooded = await startFloodedMesh({ settings: {}, writeRows: fill })
  agent = await flooded.aFlooder(lister, { can_message: ['*'], can_subscribe: ['*'] })
  operator = await agentAtWork(flooded.mesh, 'operator')
}, 600_000)
afterAll(async () => flooded?.close())

const ofAgents = [
  '/mesh/agents',
  '/mesh/artifacts?shared=true',
  '/mesh/projects',
  '/mesh/self',
  '/mesh/tasks/inbox',
  '/mesh/tools',
]
const ofTheOperator = [
  '/mesh/agents',
  '/mesh/projects',
  '/mesh/projects/project7',
  '/mesh/self',
  '/mesh/operator/agents',
  '/mesh/operator/agents/agent7',
  '/mesh/operator/agents/agent7/runs',
  '/mesh/operator/agents/agent7/metrics',
  '/mesh/operator/archive',
  '/mesh/operator/audit',
  '/mesh/operator/budgets',
  '/mesh/operator/changes',
  '/mesh/operator/messages',
  '/mesh/operator/metrics',
  '/mesh/operator/pending',
  '/mesh/operator/stale-tasks?hours=1',
  '/mesh/operator/tasks',
  '/mesh/operator/templates',
  '/mesh/operator/tools',
]

describe('a flood of one agent in a fleet of 950 agents', () => {
  it.each([
    ...ofAgents.map((path) => ['agent', path] as const),
    ...ofTheOperator.map((path) => ['operator', path] as const),
  ])(
    'a flood of the %s with %s leaves the event loop to other agents',
    async (who, path) => {
      expect(
        await flooded.judge(who === 'agent' ? agent : operator, {
          what: path,
          calls: 24,
          call: (by) => knock(by, { method: 'GET', path }),
        }),
      ).toBeNull()
    },
    300_000,
  )
})
