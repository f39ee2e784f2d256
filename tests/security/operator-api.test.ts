import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { cronAgentEndpoints, cronHumanApi, cronHumanEndpoints } from '@flotilla/protocol/cron-api'
import { fillPath } from '@flotilla/protocol/endpoint'
import type { Endpoint } from '@flotilla/protocol/endpoint'
import { headers } from '@flotilla/protocol/headers'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { moneyEndpoints } from '@flotilla/protocol/money-api'
import {
  operatorArchiveEndpoints,
  operatorEndpoints,
  operatorViewEndpoints,
} from '@flotilla/protocol/operator-endpoints'
import { permissionFields } from '@flotilla/protocol/permission-record'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentAtWork, longWork } from '../support/agent-at-work.ts'
import type { AgentAtWork } from '../support/agent-at-work.ts'
import { httpCall } from '../support/http-call.ts'
import type { Reply } from '../support/http-call.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { expectProblem } from '../support/problem-matcher.ts'
import { heedsLesson, verifies } from '../verifies.ts'

let mesh: MeshProcess
let operator: AgentAtWork
let ann: AgentAtWork
let count = 0

beforeAll(async () => {
  mesh = await startMesh({ cassettes: { works: longWork } })
  await mesh.createWorker('ann')
  await mesh.createWorker('target')
  operator = await agentAtWork(mesh, 'operator')
  ann = await agentAtWork(mesh, 'ann')
})
afterAll(() => mesh.stop())

interface Knock {
  readonly who: AgentAtWork
  readonly token?: string
  readonly params?: Record<string, string>
  readonly body?: unknown
  readonly raw?: string
  readonly more?: Record<string, string>
}

function knock(
  endpoint: Endpoint,
  { who, token = who.token, params = {}, body = {}, raw, more = {} }: Knock,
): Promise<Reply> {
  const writes = endpoint.method !== 'GET'
  const path = fillPath(endpoint.path, {
    id: 'target',
    file: 'SOUL.md',
    token: 'change_0',
    name: 'starter',
    ...params,
  })
  return httpCall({
    method: endpoint.method,
    url: `${who.api}${path}`,
    headers: {
      authorization: `Bearer ${token}`,
      [headers.runId]: who.run.id,
      [headers.runFence]: String(who.run.fence),
      [headers.idempotencyKey]: `key ${(count += 1)}`,
      ...(writes ? { 'content-type': 'application/json' } : {}),
      ...more,
    },
    ...(writes ? { body: raw ?? JSON.stringify(body) } : {}),
  })
}

const bodies: Readonly<Record<string, unknown>> = {
  agentCreate: { id: 'new', role: 'new' },
  agentEdit: { field: 'role', value: 'x' },
}
const all = Object.entries<Endpoint>({ ...operatorEndpoints, ...operatorViewEndpoints })
const record = async () => {
  const text = await readFile(join(mesh.home, 'config', 'permissions.json'), 'utf8')
  return (JSON.parse(text) as { permissions: Record<string, Record<string, unknown>> }).permissions
}

describe('the operator’s part of the agent API', () => {
  it.each(all)(
    'the operator API refuses %s to a worker, to programs and without a token',
    async (name, endpoint) => {
      heedsLesson(3, 4, 43)
      verifies(
        'authentication:operator-or-internal:fleet-metrics',
        'authentication:operator-or-internal:agent-metrics',
        'authentication:operator-or-internal:stale-tasks',
        'authentication:operator-or-internal:audit',
      )
      const body = bodies[name] ?? {}
      expectProblem(await knock(endpoint, { who: ann, body }), 'denied')
      // Headers with an agent's name authenticate no caller, and the marker of the internal API has no effect here.
      const more = { 'x-agent-id': 'operator', [headers.meshInternal]: '1' }
      expectProblem(await knock(endpoint, { who: ann, body, more }), 'denied')
      expectProblem(await knock(endpoint, { who: operator, token: operator.programToken, body }), 'denied')
      expectProblem(await knock(endpoint, { who: operator, token: 'guess', body }), 'unauthenticated')
      // Missing and forbidden look the same to a worker.
      const missing = await knock(endpoint, { who: ann, body, params: { id: 'nobody', token: 'change_1' } })
      const there = await knock(endpoint, { who: ann, body })
      expect([missing.status, missing.json()['detail']]).toEqual([there.status, there.json()['detail']])
    },
  )

  it.each(Object.entries<Endpoint>(operatorViewEndpoints))('the operator reaches %s', async (_name, view) => {
    const reply = await knock(view, { who: operator })
    expect(reply.status, reply.text).toBe(200)
  })

  it.each(Object.entries<Endpoint>(operatorEndpoints))(
    'the operator API is not on the people’s port: %s',
    async (_name, endpoint) => {
      const reply = await mesh.call(endpoint, {
        params: { id: 'target', file: 'SOUL.md', token: 'change_0', name: 'starter' },
        headers: { [headers.meshInternal]: '1' },
        ...(endpoint.method === 'GET' ? {} : { body: {} }),
      })
      expectProblem(reply, 'not-found')
    },
  )

  it('the operator API confirms nothing: there is no such path for an agent, whatever it carries', async () => {
    const asked = await knock(operatorEndpoints.agentDelete, { who: operator })
    const { id, digest } = asked.json() as { id: string; digest: string }
    for (const path of [`/mesh/operator/pending/${id}/confirm`, `/api/pending/${id}/confirm`]) {
      const endpoint = { method: 'POST', path, summary: '' } as const
      expectProblem(
        await knock(endpoint, { who: operator, body: { digest }, more: { [headers.requestedWith]: 'x' } }),
        'not-found',
      )
    }
    expect((await record())['target']).toBeDefined()
    await mesh.call(controlEndpoints.pendingCancel, { params: { id } })
  })
})

/**
 * Sends a request to the literal path: all callers except the operator and programs of this machine are refused.
 */
async function askAtTheGate(path: string, method: 'GET' | 'POST' = 'GET') {
  const endpoint = { method, path, summary: '' } as const
  const internal = { [headers.meshInternal]: '1' }
  expectProblem(await knock(endpoint, { who: ann }), 'denied')
  expectProblem(await knock(endpoint, { who: ann, more: internal }), 'denied')
  expectProblem(await knock(endpoint, { who: operator, token: operator.programToken }), 'denied')
  expectProblem(await mesh.call(endpoint), 'unauthenticated')
  const proxied = { ...internal, 'x-forwarded-for': '10.0.0.1' }
  expectProblem(await mesh.call(endpoint, { headers: proxied }), 'unauthenticated')
  const replies = [
    await knock(endpoint, { who: operator }),
    await mesh.call(endpoint, { headers: internal }),
  ] as const
  for (const { status, text } of replies) expect(status, text).toBe(200)
  return replies.map((reply) => reply.json())
}

describe('behind the operator-or-internal gate', () => {
  /** Gives a worker every permission that the use cases check, so that only the gate can refuse it. */
  const allow = async (can: boolean) => {
    const value = { set: { can_view_fleet_metrics: can, can_manage_fleet: can } }
    const edit = { params: { id: 'ann' }, body: { field: 'permissions', value } }
    expect((await mesh.call(controlEndpoints.agentEdit, edit)).status).toBe(200)
  }
  beforeAll(() => allow(true))
  afterAll(() => allow(false))

  it('behind the operator-or-internal gate are the figures of the fleet', async () => {
    verifies('endpoints:operator:fleet-metrics')
    for (const figures of await askAtTheGate('/mesh/operator/metrics')) {
      expect(figures).toMatchObject({ agents: { total: 3 }, cost_today_usd: expect.any(Number) })
    }
  })

  it('behind the operator-or-internal gate are those of each agent', async () => {
    verifies('endpoints:operator:agent-metrics')
    for (const figures of await askAtTheGate('/mesh/operator/agents/ann/metrics')) {
      expect(figures).toMatchObject({ id: 'ann' })
    }
  })

  it('behind the operator-or-internal gate are the tasks to which nothing happens', async () => {
    verifies('endpoints:operator:stale-tasks')
    for (const found of await askAtTheGate('/mesh/operator/stale-tasks')) expect(found).toEqual({ tasks: [] })
  })

  it('behind the operator-or-internal gate is the audit', async () => {
    verifies('endpoints:operator:audit')
    for (const { rows } of await askAtTheGate('/mesh/operator/audit?limit=500')) {
      expect(rows).toContainEqual(expect.objectContaining({ action: 'agent.created', subject: 'target' }))
    }
  })

  it('the archive can be listed, filled and emptied behind the operator-or-internal gate', async () => {
    verifies('endpoints:operator:archive', 'endpoints:operator:paths')
    const archived = () => askAtTheGate('/mesh/operator/archive')
    for (const found of await archived()) expect(found).toEqual({ agents: [] })
    for (const put of await askAtTheGate('/mesh/operator/agents/target/archive', 'POST')) {
      expect(put).toMatchObject({ id: 'target', archived: true })
    }
    for (const found of await archived()) expect(found).toMatchObject({ agents: [{ id: 'target' }] })
    for (const back of await askAtTheGate('/mesh/operator/agents/target/unarchive', 'POST')) {
      expect(back).toMatchObject({ id: 'target', archived: false })
    }
    for (const found of await archived()) expect(found).toEqual({ agents: [] })
  })
})

describe('figures on the people’s port', () => {
  it.each(Object.entries<Endpoint>(operatorViewEndpoints))(
    'figures on the people’s port need the internal marker: %s',
    async (_name, endpoint) => {
      const ask = (more: Record<string, string>) =>
        mesh.call(endpoint, { params: { id: 'ann' }, headers: more })
      expect((await ask({ [headers.meshInternal]: '1' })).status).toBe(200)
      expectProblem(await ask({}), 'unauthenticated')
      expectProblem(
        await ask({ [headers.meshInternal]: '1', 'x-forwarded-for': '10.0.0.1' }),
        'unauthenticated',
      )
    },
  )

  it('figures on the people’s port show refusals and attempts on other projects’ keys, and nothing follows from either', async () => {
    verifies('purpose:observability:tool-denials-24h', 'purpose:observability:blackboard-xproject-count')
    const figures = async () =>
      (
        await mesh.call(operatorViewEndpoints.agentMetrics, {
          params: { id: 'ann' },
          headers: { [headers.meshInternal]: '1' },
        })
      ).json()
    const write = (key: string) =>
      knock(meshAgentEndpoints.blackboardWrite, { who: ann, params: { key }, body: { value: 1 } })
    expectProblem(await write('projects/theirs/plan'), 'denied')
    const add = { add: { blackboard_write: ['projects/**'] } }
    await mesh.call(controlEndpoints.agentEdit, {
      params: { id: 'ann' },
      body: { field: 'permissions', value: add },
    })
    // Membership in the project decides, and no pattern overrides it; the count is for people to read.
    expectProblem(await write('projects/theirs/plan'), 'denied')
    expect(await figures()).toMatchObject({
      id: 'ann',
      tool_denials_24h: { 'write-blackboard': 2 },
      _blackboard_xproject_count: { read: 0, write: 2 },
    })
    // The count never changes a permission: an allowed write stays allowed.
    expect((await write('tasks/ours')).status).toBe(200)
    expect(await figures()).toMatchObject({ _blackboard_xproject_count: { read: 0, write: 2 } })
  })
})

describe('the archive, behind the operator-or-internal gate', () => {
  const { archive, archived, unarchive } = operatorArchiveEndpoints
  const internal = { params: { id: 'target' }, headers: { [headers.meshInternal]: '1' } }

  it('the archive is available only to the operator and to this machine', async () => {
    verifies('authentication:operator-or-internal:archive')
    for (const endpoint of [archived, archive, unarchive]) {
      expectProblem(await knock(endpoint, { who: ann }), 'denied')
      expectProblem(await knock(endpoint, { who: operator, token: operator.programToken }), 'denied')
      expectProblem(await mesh.call(endpoint, { params: { id: 'target' } }), 'unauthenticated')
    }
    expect((await knock(archive, { who: operator })).json()).toMatchObject({ id: 'target', archived: true })
    expect((await mesh.call(archived, internal)).json()).toMatchObject({ agents: [{ id: 'target' }] })
    expect((await mesh.call(unarchive, internal)).json()).toMatchObject({ archived: false })
    expect((await knock(archived, { who: operator })).json()).toEqual({ agents: [] })
    expectProblem(await knock(archive, { who: operator, params: { id: 'operator' } }), 'denied')
  })

  it('the archive, behind the operator-or-internal gate wants the right to manage the fleet', async () => {
    const set = (can: boolean) =>
      mesh.call(controlEndpoints.agentEdit, {
        params: { id: 'operator' },
        body: { field: 'permissions', value: { set: { can_manage_fleet: can } } },
      })
    await set(false)
    for (const endpoint of [archive, unarchive]) {
      expectProblem(await knock(endpoint, { who: operator }), 'denied')
    }
    await set(true)
  })
})

describe('the ceiling on the wire', () => {
  heedsLesson(6)
  const edit = (raw: string) => knock(operatorEndpoints.agentEdit, { who: operator, raw })
  const set = (fields: string) => `{"field":"permissions","value":{"set":${fields}}}`

  it.each([
    ['plainly', set('{"can_spawn":true}')],
    ['among others', set('{"can_message":["a"],"can_use_wallet":true}')],
    ['as text', set('{"can_spawn":"true"}')],
    ['as a number', set('{"can_spawn":1}')],
    ['as a list', set('{"can_spawn":[true]}')],
    ['as an object', set('{"can_spawn":{"value":true}}')],
    ['in capitals', set('{"CAN_SPAWN":true}')],
    ['with a blank', set('{"can_spawn ":true}')],
    ['with a look-alike letter', set('{"сan_spawn":true}')],
    ['with an invisible letter', set('{"can_spawn\\u200b":true}')],
    ['escaped', set('{"can_\\u0073pawn":true}')],
    ['twice, the harmless one last', set('{"can_spawn":true,"can_spawn":false,"can_use_wallet":true}')],
    ['twice, the harmless one first', set('{"can_spawn":false,"can_spawn":true}')],
    ['nested', set('{"permissions":{"can_spawn":true}}')],
    ['as a path', set('{"target.can_spawn":true}')],
    ['as a prototype', set('{"constructor":{"prototype":{"can_spawn":true}}}')],
    ['as an entry of a list', '{"field":"permissions","value":{"add":{"can_spawn":["true"]}}}'],
    ['in a field of its own', '{"field":"can_spawn","value":true}'],
    ['beside another field', '{"field":"role","value":"x","permissions":{"can_spawn":true}}'],
    ['through the budget', '{"field":"budget","value":{"daily_usd":1,"can_spawn":true}}'],
    ['as more APIs', set('{"allowed_apis":["*"]}')],
    ['as one API more', '{"field":"permissions","value":{"add":{"allowed_apis":["wallet"]}}}'],
    ['as credentials', set('{"allowed_credentials":["*"]}')],
    ['as a control flag', set('{"can_manage_fleet":true}')],
    ['as no wallet limit', set('{"wallet_spend_limit_daily_usd":1000000}')],
  ])('the ceiling on the wire refuses a right that is asked for %s', async (_how, raw) => {
    verifies('errors:ceiling:spawn-refused')
    const before = await record()
    expectProblem(await edit(raw), 'human-only', 'bad-request', 'bad-json')
    expect(await record()).toEqual(before)
  })

  it('the ceiling on the wire refuses every field that only a person may raise, alone and at creation', async () => {
    heedsLesson(7, 8)
    verifies(
      'resources:operator:ceiling-spawn',
      'resources:operator:ceiling-wallet',
      'resources:permission:can-spawn-not-by-operator',
      'resources:permission:can-use-wallet-not-by-operator',
      'authentication:ceiling:spawn',
      'authentication:ceiling:wallet',
      'errors:ceiling:wallet-refused',
    )
    const raises: Readonly<Record<string, unknown>> = {
      allowed_apis: ['llm', 'http', 'more'],
      allowed_credentials: ['x'],
      can_use_browser: true,
      can_spawn: true,
      can_use_wallet: true,
      wallet_allowed_chains: ['ethereum'],
      wallet_spend_limit_per_tx_usd: 1,
      wallet_spend_limit_daily_usd: 1,
      wallet_rate_limit_per_hour: 1,
      wallet_allowed_contracts: ['0x1'],
      can_manage_fleet: true,
      can_manage_projects: true,
      can_edit_agent_config: true,
      can_view_fleet_metrics: true,
      can_route_tasks: true,
      can_request_user_credentials: true,
    }
    for (const [field, value] of Object.entries(raises)) {
      expect(Object.hasOwn(permissionFields, field)).toBe(true)
      expectProblem(await edit(set(JSON.stringify({ [field]: value }))), 'human-only')
      const create = { id: `new-${field}`, role: 'x', permissions: { [field]: value } }
      expectProblem(
        await knock(operatorEndpoints.agentCreate, { who: operator, body: create }),
        'human-only',
        'bad-request',
      )
      expect((await record())[create.id]).toBeUndefined()
    }
  })

  it('the operator cannot choose the budget that a new worker is charged to', async () => {
    const create = { id: 'charged', role: 'x', project: 'acme' }
    expectProblem(await knock(operatorEndpoints.agentCreate, { who: operator, body: create }), 'bad-request')
    expect((await record())['charged']).toBeUndefined()
  })

  it('the ceiling on the wire lets the operator lower, and widen what is its to give', async () => {
    const lower = await edit(set('{"allowed_apis":["llm"],"can_message":["operator","ann"]}'))
    expect(lower.status, lower.text).toBe(200)
    expect((await record())['target']).toMatchObject({
      allowed_apis: ['llm'],
      can_message: ['operator', 'ann'],
    })
    expectProblem(await edit(set('{"allowed_apis":["llm","http"]}')), 'human-only')
  })

  it('the ceiling on the wire holds for a person’s lowering too: the operator undoes only what it did itself', async () => {
    const change = (value: boolean) =>
      mesh.call(controlEndpoints.agentEdit, {
        params: { id: 'target' },
        body: { field: 'permissions', value: { set: { can_spawn: value } } },
      })
    await change(true)
    const token = String((await change(false)).json()['undo_token'])
    expectProblem(
      await knock(operatorEndpoints.changeUndo, { who: operator, params: { token } }),
      'not-found',
    )
    expect((await record())['target']).toMatchObject({ can_spawn: false })
  })

  it('the ceiling on the wire is counted, journaled and never waits for a confirmation', async () => {
    const marked = { headers: { [headers.meshInternal]: '1' } }
    const figures = (
      await mesh.call(operatorViewEndpoints.agentMetrics, { params: { id: 'operator' }, ...marked })
    ).json()
    const denials = figures['tool_denials_24h'] as Record<string, number>
    expect(denials['edit-agent-config']).toBeGreaterThan(10)
    const audit = await mesh.call(operatorViewEndpoints.audit, { query: { limit: 500 }, ...marked })
    expect(audit.text).toContain('ceiling.refused')
    expect((await mesh.call(controlEndpoints.pending)).json()).toEqual({ pending: [] })
  })

  it('the ceiling on the wire keeps the operator from itself: edits, stops, restarts and deletions', async () => {
    heedsLesson(124)
    for (const endpoint of [
      operatorEndpoints.agentEdit,
      operatorEndpoints.agentRestart,
      operatorEndpoints.agentStop,
      operatorEndpoints.agentDelete,
    ]) {
      const body = endpoint === operatorEndpoints.agentEdit ? { field: 'role', value: 'king' } : {}
      expectProblem(await knock(endpoint, { who: operator, params: { id: 'operator' }, body }), 'denied')
    }
  })
})

describe('money on the wire: the operator lowers and never raises', () => {
  const edit = (raw: string) => knock(operatorEndpoints.agentEdit, { who: operator, raw })
  const budget = (value: string) => `{"field":"budget","value":${value}}`
  const config = async (id = 'target') =>
    (await mesh.call(controlEndpoints.agentConfig, { params: { id } })).json()
  const create = (body: object) => knock(operatorEndpoints.agentCreate, { who: operator, body })
  const byPerson = (daily_usd: number) =>
    mesh.call(moneyEndpoints.budgetSet, { body: { scope: 'agent', id: 'target', daily_usd } })

  it.each([
    ['plainly', budget('{"daily_usd":1000}')],
    ['for the month', budget('{"monthly_usd":30000}')],
    ['by a cent', budget('{"daily_usd":10.01}')],
    ['with the other period lowered', budget('{"daily_usd":1,"monthly_usd":200.5}')],
    ['in scientific form', budget('{"daily_usd":1e3}')],
    ['as text', budget('{"daily_usd":"1000"}')],
    ['as a list', budget('{"daily_usd":[1000]}')],
    ['as an object', budget('{"daily_usd":{"usd":1000}}')],
    ['as no limit', budget('{"daily_usd":null}')],
    ['below nothing', budget('{"daily_usd":-1}')],
    ['beyond numbers', budget('{"daily_usd":1e999}')],
    ['twice, the lower first', budget('{"daily_usd":1,"daily_usd":1000}')],
    ['under another name', budget('{"dailyUsd":1000}')],
    ['escaped', budget('{"d\\u0061ily_usd":1000}')],
    ['with a reason', '{"field":"budget","value":{"daily_usd":1000},"reason":"the owner said so"}'],
    ['as a permission', '{"field":"permissions","value":{"set":{"daily_usd":1000}}}'],
    ['beside a role', '{"field":"role","value":"x","budget":{"daily_usd":1000}}'],
    ['in a field of its own', '{"field":"daily_usd","value":1000}'],
  ])('the operator API refuses more that is asked for %s', async (_how, raw) => {
    const before = (await config())['budget']
    expectProblem(await edit(raw), 'human-only', 'bad-request', 'bad-json')
    expect((await config())['budget']).toEqual(before)
  })

  it('the operator API makes no worker that may spend more than any worker may from its start', async () => {
    for (const [at, amounts] of [
      { daily_usd: 1000, monthly_usd: 30_000 },
      { daily_usd: 10.01, monthly_usd: 200 },
      { daily_usd: 1, monthly_usd: 200.01 },
    ].entries()) {
      expectProblem(await create({ id: `rich-${at}`, role: 'x', budget: amounts }), 'human-only')
      expect((await record())[`rich-${at}`]).toBeUndefined()
    }
    const modest = { daily_usd: 10, monthly_usd: 5 }
    expect((await create({ id: 'modest', role: 'x', budget: modest })).status).toBe(200)
    expect((await create({ id: 'plain', role: 'x' })).status).toBe(200)
    for (const id of ['modest', 'plain']) {
      await mesh.call(controlEndpoints.agentDelete, { params: { id } })
    }
  })

  it('the operator lowers a budget, and does not undo its own lowering: a person does', async () => {
    const lowered = await edit(budget('{"daily_usd":4}'))
    expect(lowered.status, lowered.text).toBe(200)
    const token = String(lowered.json()['undo_token'])
    expectProblem(
      await knock(operatorEndpoints.changeUndo, { who: operator, params: { token } }),
      'human-only',
    )
    expect(await config()).toMatchObject({ budget: { daily_usd: 4 } })
    expect((await mesh.call(controlEndpoints.changeUndo, { params: { token } })).status).toBe(200)
    expect(await config()).toMatchObject({ budget: { daily_usd: 10 } })
  })

  it('the check compares with the current budget: an older amount can be a raise today', async () => {
    expect((await byPerson(2)).status).toBe(200)
    expectProblem(await edit(budget('{"daily_usd":3}')), 'human-only')
    expect((await edit(budget('{"daily_usd":2}'))).status).toBe(200)
    expect((await byPerson(10)).status).toBe(200)
  })

  it('the operator is shut out of the budgets of projects and of the fleet, and out of who pays, by every path', async () => {
    const shut: readonly [Endpoint, object][] = [
      [moneyEndpoints.budgetSet, { scope: 'fleet', daily_usd: null }],
      [moneyEndpoints.budgetSet, { scope: 'agent', id: 'target', daily_usd: 1000 }],
      [moneyEndpoints.agentProjectSet, { project: null }],
    ]
    for (const [endpoint, body] of shut) {
      const more = { [headers.requestedWith]: 'x', [headers.meshInternal]: '1' }
      expectProblem(await knock(endpoint, { who: operator, body, more }), 'not-found')
    }
    expect(await config()).toMatchObject({ budget: { daily_usd: 10 }, project: null })
  })

  it('a raise by the operator is counted and journaled where it is refused, and never waits for a confirmation', async () => {
    const audit = await mesh.call(operatorViewEndpoints.audit, {
      query: { limit: 500 },
      headers: { [headers.meshInternal]: '1' },
    })
    const refused = (audit.json() as { rows: { action: string; detail: Record<string, unknown> }[] }).rows
      .filter(({ action }) => action === 'ceiling.refused')
      .map(({ detail }) => detail['field'])
    expect(refused).toEqual(expect.arrayContaining(['daily_usd', 'monthly_usd']))
    expect((await mesh.call(controlEndpoints.pending)).json()).toEqual({ pending: [] })
  })
})

describe('the operator’s heartbeat on the wire', () => {
  it('the operator’s heartbeat on the wire is not the operator’s to silence, nor a worker’s that may edit agents and make jobs', async () => {
    const permissions = (set: object) => ({ field: 'permissions', value: { set } })
    const trusted = { can_manage_cron: true, can_edit_agent_config: true, can_view_fleet_metrics: true }
    const granted = await mesh.call(controlEndpoints.agentEdit, {
      params: { id: 'ann' },
      body: permissions(trusted),
    })
    expect(granted.status, granted.text).toBe(200)
    const heart = async () => {
      const { jobs } = cronHumanApi.cronJobs.response.parse(
        (await mesh.call(cronHumanEndpoints.cronJobs)).json(),
      )
      return jobs.find(({ agent, heartbeat }) => agent === 'operator' && heartbeat)
    }
    const before = await heart()
    const params = { id: before?.id ?? '' }
    for (const who of [operator, ann]) {
      for (const body of [
        { enabled: false },
        { when: 'now.hour > 50' },
        { schedule: 'every 366d' },
        { message: 'sleep' },
        { suppress_empty: false },
        { heartbeat: false },
        { created_by: 'agent:nobody' },
      ]) {
        expectProblem(
          await knock(cronAgentEndpoints.cronChange, { who, params, body }),
          'bad-request',
          'denied',
        )
      }
      expectProblem(await knock(cronAgentEndpoints.cronDrop, { who, params }), 'bad-request', 'denied')
      const another = { agent: 'operator', schedule: 'every 15m', heartbeat: true, enabled: false }
      expectProblem(
        await knock(cronAgentEndpoints.cronSet, { who, body: another }),
        'bad-request',
        'denied',
        'unprocessable',
      )
    }
    expect(await heart()).toEqual(before)
    const taken = Object.fromEntries(Object.keys(trusted).map((name) => [name, false]))
    await mesh.call(controlEndpoints.agentEdit, { params: { id: 'ann' }, body: permissions(taken) })
  })
})

describe('the operator sees all, a worker its own', () => {
  heedsLesson(125)
  it('the agent API lists every agent to the operator', async () => {
    const reply = await knock(operatorEndpoints.agents, { who: operator })
    const { agents } = reply.json() as { agents: { id: string }[] }
    expect(agents.map(({ id }) => id).toSorted()).toEqual(['ann', 'operator', 'target'])
  })
})

describe('a template that watches folders of this machine', () => {
  it('a template that watches folders of this machine is not the operator’s to apply, nor a program’s of this machine: nothing of it comes about', async () => {
    await mkdir(join(mesh.home, 'templates'), { recursive: true })
    const watchers = [{ path: '/etc', pattern: '*', agent: 'spy', message: 'm' }]
    const agents = [{ id: 'spy', role: 'r', instructions: 'i' }]
    const text = JSON.stringify({ name: 'spy', description: 'd', agents, watchers })
    await writeFile(join(mesh.home, 'templates', 'spy.yaml'), text)
    const [endpoint, params] = [operatorEndpoints.templateApply, { name: 'spy' }]
    expectProblem(await knock(endpoint, { who: operator, params }), 'human-only')
    const internal = { [headers.meshInternal]: '1' }
    const machine = await mesh.call(endpoint, { params, headers: internal, body: {} })
    expect(machine.status).not.toBe(200)
    expectProblem(await knock(endpoint, { who: ann, params }), 'denied')
    const reply = await knock(operatorEndpoints.agents, { who: operator })
    expect(reply.text).not.toContain('spy')
    await expect(readFile(join(mesh.home, 'config', 'watchers.yaml'), 'utf8')).rejects.toThrow('ENOENT')
  })
})
