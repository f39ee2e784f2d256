import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentAtWork, knock } from '../support/agent-at-work.ts'
import type { AgentAtWork } from '../support/agent-at-work.ts'
import { startFloodedMesh } from '../support/flooded-mesh.ts'
import type { FloodedMesh } from '../support/flooded-mesh.ts'

const lister = 'lister'
const long = 'x'.repeat(8000)

let flooded: FloodedMesh
let agent: AgentAtWork
let operator: AgentAtWork

/** Rows of a fleet that has worked for long, of which most are of one agent. */
function fill(database: DatabaseSync, home: string): void {
  const rows = (count: number, sql: string, ...more: string[]) => {
    const statement = database.prepare(sql)
    for (let at = 0; at < count; at++) statement.run(`id${at}`, ...more)
  }
  rows(
    20_000,
    `INSERT INTO tasks (id, creator, assignee, title, description, data, state, origin, created_at, updated_at, completed_at)
     VALUES (?, '${lister}', '${lister}', 't', ?, '{}', 'done', '{"kind":"agent","channel":"mesh"}', unixepoch() * 1000, 0, unixepoch() * 1000)`,
    long,
  )
  rows(
    1000,
    `INSERT INTO artifacts (agent_id, name, version, description, size_bytes, sha256, saved_at) VALUES ('${lister}', ?, 1, ?, 1, 'x', 0)`,
    long.slice(0, 2000),
  )
  rows(1000, `INSERT INTO topic_subscriptions (agent_id, topic, subscribed_at) VALUES ('${lister}', ?, 0)`)
  rows(
    20_000,
    `INSERT INTO topic_signals (id, topic, from_agent, text, data, said_at) VALUES (?, 'id1', '${lister}', ?, '{}', 0)`,
    long,
  )
  rows(
    200,
    `INSERT INTO topic_unread (agent_id, position) SELECT '${lister}', position FROM topic_signals WHERE id = ?`,
  )
  rows(
    20_000,
    `INSERT INTO messages (id, sender, recipient, text, asking_run_id, root_run_id, state, created_at)
     VALUES (?, '${lister}', 'second', ?, 'r', 'r', 'sent', 0)`,
    long,
  )
  rows(
    20,
    `INSERT INTO blackboard_watches (id, agent_id, pattern, tell, created_by, created_at) VALUES (?1, '${lister}', ?1, 'run', 'x', 0)`,
  )
  rows(
    20_000,
    `INSERT INTO wallet_intents (id, key, agent_id, chain, sender, recipient, place, tx_id, signed_bytes, words, effects,
       payees, charged_micro_usd, signed_at, state, note, looks, next_look_at, ended_at)
     VALUES (?1, ?1, '${lister}', 'base', 's', 'r', '{"kind":"nonce","nonce":1}', ?1, ?2, 'w', 'null', '[]', 1, 0, 'confirmed', '', 0, 0, 0)`,
    long,
  )
  appendFileSync(
    join(home, '.env'),
    Array.from({ length: 1000 }, (_, at) => `MADE_${at}=value-number-${at}\n`).join(''),
  )
}

beforeAll(async () => {
  flooded = await startFloodedMesh({ settings: {}, writeRows: fill })
  agent = await flooded.aFlooder(lister, {
    allowed_credentials: ['*'],
    can_message: ['*'],
    can_use_wallet: true,
    can_manage_cron: true,
    wallet_allowed_chains: ['base'],
    can_subscribe: ['*'],
  })
  operator = await agentAtWork(flooded.mesh, 'operator')
})
afterAll(async () => flooded?.close())

const get = (path: string) => ({ method: 'GET', path })
const ofAgents = [
  get('/mesh/agents'),
  get('/mesh/artifacts'),
  get('/mesh/artifacts?shared=true'),
  get('/mesh/blackboard-watches'),
  get('/mesh/credentials'),
  get('/mesh/cron'),
  get('/mesh/projects'),
  get('/mesh/self'),
  get('/mesh/tasks/inbox'),
  get('/mesh/tasks/id7'),
  get('/mesh/tools'),
  get('/mesh/topics'),
  get('/mesh/wallet/payments'),
  get('/v1/models'),
  { method: 'POST', path: '/mesh/signals/read', body: { limit: 50 } },
]
const ofTheOperator = [
  '/mesh/operator/agents',
  `/mesh/operator/agents/${lister}`,
  `/mesh/operator/agents/${lister}/runs`,
  `/mesh/operator/agents/${lister}/metrics`,
  '/mesh/operator/archive',
  '/mesh/operator/audit',
  '/mesh/operator/budgets',
  '/mesh/operator/changes',
  '/mesh/operator/messages',
  '/mesh/operator/metrics',
  '/mesh/operator/pending',
  '/mesh/operator/tasks',
  '/mesh/operator/templates',
  '/mesh/operator/tools',
].map(get)

describe('a flood of one agent', () => {
  it.each(ofAgents.map((one) => [`${one.method} ${one.path}`, one] as const))(
    'a flood of %s leaves the event loop to other agents',
    async (what, one) => {
      expect(
        await flooded.judge(agent, {
          what,
          calls: 24,
          call: (by) => knock(by, one),
        }),
      ).toBeNull()
    },
  )

  it.each(ofTheOperator.map((one) => [one.path, one] as const))(
    "a flood of the operator's %s leaves the event loop to other agents",
    async (what, one) => {
      expect(
        await flooded.judge(operator, {
          what,
          calls: 24,
          call: (by) => knock(by, one),
        }),
      ).toBeNull()
    },
  )
})
