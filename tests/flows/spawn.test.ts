import { controlEndpoints } from '@flotilla/protocol/control-api'
import { moneyEndpoints } from '@flotilla/protocol/money-api'
import { projectHumanEndpoints } from '@flotilla/protocol/project-api'
import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aCassette, calls, runs, says } from '../support/cassettes.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import { eventually } from '../support/eventually.ts'
import { openLedger } from '../support/ledger-view.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { verifies } from '../verifies.ts'

const spawn = (task: string, more: Record<string, unknown> = {}) =>
  calls('spawn_fleet_agent', { role: 'counter', task, ...(more as Record<string, string>) })

/** The second turn ends while the child works: its result starts a further turn. */
const cassette = aCassette(
  {
    agents: ['boss'],
    when: 'Summary: Which color\\?',
    turns: [
      calls(
        'manage_task',
        { task_id: '{{task}}', action: 'answer', note: 'blue' },
        { capture: { task: 'Task (task_\\w+) "counter: Ask it"' } },
      ),
      says('Answered.'),
    ],
  },
  {
    agents: ['boss'],
    when: '"counter: ',
    turns: [says('It says: {{said}}', { capture: { said: 'Summary: ([^\\n]*)' } })],
  },
  { agents: ['boss'], when: '^ask$', turns: [spawn('Ask it'), says('It is under way.')] },
  {
    agent_kind: 'worker',
    when: 'was answered by agent:boss: blue',
    turns: [
      runs('echo looked=$(wc -l < looked.txt)'),
      calls(
        'complete_task',
        { summary: 'Looked {{times}} times, and it is blue.' },
        {
          capture: { times: 'looked=(\\d+)' },
        },
      ),
    ],
  },
  {
    agent_kind: 'worker',
    when: 'Ask it',
    turns: [
      runs('echo once >> looked.txt'),
      calls('update_task', { action: 'block', note: 'Which color?' }),
      says('I wait for the answer.'),
    ],
  },
  {
    agents: ['boss'],
    when: '^count$',
    turns: [
      spawn('Count it', { permissions: { can_use_wallet: true } }),
      // The parent reads which permissions its child does not have.
      says('It is under way, {{without}}.', {
        capture: { without: 'can_use_wallet\\W+why\\W+(a spawned agent never has this permission)' },
      }),
    ],
  },
  {
    agents: ['boss'],
    when: '^count for long$',
    turns: [spawn('Count without end'), says('It is under way.')],
  },
  {
    agents: ['boss'],
    when: '^count often$',
    turns: [
      spawn('Count without end 1'),
      spawn('Count without end 2'),
      spawn('Count without end 3'),
      spawn('Count without end 4'),
      says('Enough: {{why}}', { capture: { why: '(spawn-refused)' } }),
    ],
  },
  {
    agents: ['boss'],
    when: '^count deeply$',
    turns: [spawn('Delegate it', { permissions: { can_spawn: true } }), says('It is under way.')],
  },
  {
    agent_kind: 'worker',
    when: '"counter: Count it", which you gave',
    turns: [calls('complete_task', { summary: 'a child counted' })],
  },
  {
    agent_kind: 'worker',
    when: 'Delegate it',
    turns: [spawn('Count it', { permissions: { can_spawn: true } }), says('Handed over.')],
  },
  { agent_kind: 'worker', when: 'Count without end', turns: [runs('sleep 300', { timeoutSeconds: 300 })] },
  { agent_kind: 'worker', when: 'Count it', turns: [calls('complete_task', { summary: 'It is 42.' })] },
)

let mesh: MeshProcess
beforeAll(async () => {
  mesh = await startMesh({ cassettes: { spawning: cassette } })
})
afterAll(() => mesh?.stop())
beforeEach(async () => {
  await mesh.restartIfStopped()
  await mesh.createWorker('boss')
  await editPermissions(mesh, 'boss', { can_spawn: true })
})
afterEach(async () => {
  await mesh.restartIfStopped()
  await mesh.call(controlEndpoints.agentDelete, { params: { id: 'boss' } })
  await eventually('the boss is gone with all that it made', async () => (await agentsOf()).length === 1)
})

async function agentsOf() {
  const reply = await mesh.call(meshHumanEndpoints.status)
  return meshHumanApi.status.response.parse(reply.json()).agents
}

const childrenOf = async () =>
  (await agentsOf()).filter(({ id }) => id.startsWith('spawn_')).map(({ id }) => id)

/** Returns everything that the mesh stores about spawned agents. */
async function remains(): Promise<Record<string, unknown>> {
  const database = new DatabaseSync(join(mesh.home, 'data', 'mesh.db'), { readOnly: true })
  const count = (sql: string) => Number(database.prepare(sql).get()?.['count'])
  const counts = {
    rows: count("SELECT count(*) AS count FROM agents WHERE id LIKE 'spawn_%'"),
    tokens: count("SELECT count(*) AS count FROM agent_tokens WHERE agent_id LIKE 'spawn_%'"),
    spawned: count('SELECT count(*) AS count FROM spawned_agents'),
    openTasks: count(
      "SELECT count(*) AS count FROM tasks WHERE state NOT IN ('done', 'failed', 'cancelled')",
    ),
  }
  database.close()
  const processes = (await mesh.agentProcesses()).filter(({ agentId }) => agentId.startsWith('spawn_'))
  const record = (await mesh.call(controlEndpoints.agentConfig, { params: { id: 'boss' } })).json()
  return { ...counts, processes: processes.length, boss: record['permissions'] !== null }
}
const nothing = { rows: 0, tokens: 0, spawned: 0, openTasks: 0, processes: 0, boss: true }

const gone = () =>
  eventually('nothing of the spawned agents is left', async () => {
    const left = await remains()
    return JSON.stringify(left) === JSON.stringify(nothing) ? left : null
  })

function inDatabase(sql: string): void {
  const database = new DatabaseSync(join(mesh.home, 'data', 'mesh.db'))
  database.exec(sql)
  database.close()
}

describe('an agent that an agent has made', () => {
  it('a spawned agent does its task in its own process, reports once to its parent, and is deleted with all it had', async () => {
    verifies('resources:tool:spawn-fleet-agent')
    const run = await mesh.ask('count', { agent: 'boss' })
    expect(run.outcome?.text).toBe('It says: It is 42.')
    await gone()
    const ledger = openLedger(mesh.home)
    const [child] = ledger.rows("SELECT id, budget_usd FROM runs WHERE agent_id LIKE 'spawn_%'")
    expect(child?.['budget_usd']).toBe(1)
    // The child's calls count in its parent's budgets; its run shows its own share.
    await eventually(
      'its calls are written',
      async () => ledger.rows("SELECT * FROM spend_total WHERE scope = 'agent:boss'").length > 0,
    )
    expect(ledger.rows("SELECT DISTINCT agent_id FROM spend_daily WHERE agent_id <> 'operator'")).toEqual([
      { agent_id: 'boss' },
    ])
    ledger.close()
    expect((await mesh.runs()).filter(({ agent_id: id }) => id.startsWith('spawn_'))).toHaveLength(1)
  })

  it('an agent that an agent has made asks its parent, which may route no tasks, and goes on where it stopped with the answer', async () => {
    const run = await mesh.ask('ask', { agent: 'boss' })
    expect(run.outcome?.text).toBe('It says: Looked 1 times, and it is blue.')
    await gone()
  })

  it('an agent that an agent has made is refused to who may not have one made', async () => {
    verifies('resources:tool:spawn-fleet-agent-permission')
    await editPermissions(mesh, 'boss', { can_spawn: false })
    const params = { role: 'counter', task: 'Count it' }
    const refused = await mesh.invoke('boss', 'spawn_fleet_agent', params)
    expect(refused.outcome).toMatchObject({ status: 'failed' })
    expect(JSON.stringify(refused.outcome)).toContain('can_spawn')
    expect(await childrenOf()).toEqual([])
  })

  it('a spawned agent ends with its lifetime, even if the mesh was down at that time, and its parent gets the reason', async () => {
    const run = await mesh.submit('count for long', { agent: 'boss' })
    await eventually('the child works', async () =>
      (await mesh.runs()).some(({ agent_id: id, state }) => id.startsWith('spawn_') && state === 'running'),
    )
    await mesh.kill9()
    inDatabase('UPDATE spawned_agents SET ends_at = created_at + 60000, created_at = created_at - 70000')
    inDatabase('UPDATE spawned_agents SET ends_at = created_at + 60000')
    await mesh.restart()
    const ended = await mesh.ended(run)
    expect(ended.outcome?.text).toContain('The lifetime of 60 s of the spawned agent is over')
    await gone()
  })

  it('an agent that an agent has made is not made where there are three for its parent already, nor deeper than two', async () => {
    await mesh.submit('count often', { agent: 'boss' })
    const run = await eventually('the parent was refused', async () =>
      (await mesh.runs()).find(({ agent_id: id, state }) => id === 'boss' && state === 'waiting'),
    )
    expect(await childrenOf()).toHaveLength(3)
    await mesh.call(meshHumanEndpoints.runCancel, { params: { id: run.id } })
    await gone()
    const deep = await mesh.ask('count deeply', { agent: 'boss', session: 'deep' })
    expect(deep.state).toBe('done')
    await gone()
  })

  it('a spawned agent gets no other work, and its name is never used again', async () => {
    await mesh.submit('count for long', { agent: 'boss' })
    const id = await eventually('the child is there', async () => (await childrenOf())[0] ?? null)
    const asked = await mesh.call(meshHumanEndpoints.chat, { params: { id }, body: { message: 'hello' } })
    expect(asked).toMatchObject({ status: 409 })
    const taken = await mesh.call(meshHumanEndpoints.agentCreate, { body: { id: 'spawn_x', role: 'r' } })
    expect(taken).toMatchObject({ status: 400 })
  })

  it('a spawned agent belongs to the project of its parent, follows it into another, and cannot be moved', async () => {
    await mesh.submit('count for long', { agent: 'boss' })
    const child = await eventually('the child is there', async () => (await childrenOf())[0] ?? null)
    const move = (id: string, project: string) =>
      mesh.call(moneyEndpoints.agentProjectSet, { params: { id }, body: { project } })
    expect(await move('boss', 'acme')).toMatchObject({ status: 200 })
    const acme = await mesh.call(projectHumanEndpoints.project, { params: { name: 'acme' } })
    expect(acme.json()['members']).toEqual(['boss', child])
    const reads = async (key: string) => {
      const query = { action: 'read-blackboard', resource: key }
      const reply = await mesh.call(controlEndpoints.permissionsExplain, { params: { id: child }, query })
      return reply.json()['allowed']
    }
    expect(await reads('projects/acme/plan')).toBe(true)
    expect(await move(child, 'other')).toMatchObject({ status: 409 })
    expect(await reads('projects/other/plan')).toBe(false)
    expect(await reads('projects/acme/plan')).toBe(true)
  })

  it('a spawned agent ends when its parent is archived, and waiting callers are notified', async () => {
    const run = await mesh.submit('count for long', { agent: 'boss' })
    await eventually('the child is there', async () => (await childrenOf())[0] ?? null)
    expect((await mesh.call(controlEndpoints.agentArchive, { params: { id: 'boss' } })).status).toBe(200)
    await gone()
    expect((await mesh.ended(run)).outcome).toMatchObject({ status: 'failed', code: 'agent-archived' })
    await mesh.call(controlEndpoints.agentUnarchive, { params: { id: 'boss' } })
  })

  it('an agent that an agent has made goes with its parent', async () => {
    await mesh.submit('count for long', { agent: 'boss' })
    await eventually('the child is there', async () => (await childrenOf())[0] ?? null)
    const deleted = await mesh.call(controlEndpoints.agentDelete, { params: { id: 'boss' } })
    expect(deleted.status).toBe(200)
    await eventually('all are gone', async () => (await agentsOf()).length === 1)
  })
})
