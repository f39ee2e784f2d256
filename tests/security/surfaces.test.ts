import { networkInterfaces } from 'node:os'
import { connect } from 'node:net'
import { readFile } from 'node:fs/promises'
import { rolesOfRoutes } from '@flotilla/protocol/people-roles'
import { provedRoutes } from '@flotilla/protocol/owner-proof'
import { peopleAdminEndpoints } from '@flotilla/protocol/people-api'
import { agentEndpoints } from '@flotilla/protocol/agent-endpoints'
import { fillPath } from '@flotilla/protocol/endpoint'
import type { Endpoint } from '@flotilla/protocol/endpoint'
import { harnessEndpoints } from '@flotilla/protocol/harness-api'
import { headers } from '@flotilla/protocol/headers'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { journalEndpoints } from '@flotilla/protocol/journal-api'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { modelEndpoints } from '@flotilla/protocol/model-api'
import { modelsEndpoints } from '@flotilla/protocol/models-api'
import { moneyEndpoints } from '@flotilla/protocol/money-api'
import { operatorEndpoints, operatorViewEndpoints } from '@flotilla/protocol/operator-endpoints'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { meshInternalEndpoints } from '@flotilla/protocol/mesh-internal-api'
import { skillEndpoints } from '@flotilla/protocol/skills-api'
import { toolEndpoints } from '@flotilla/protocol/tool-api'
import { resourceRequestEndpoints } from '@flotilla/protocol/resource-requests-api'
import { vaultAgentEndpoints, vaultHumanEndpoints } from '@flotilla/protocol/vault-api'
import { webhookEndpoints } from '@flotilla/protocol/webhook-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeMeshKey } from '../../packages/agent/src/testing/mesh-proof.ts'
import { agentAtWork, longWork } from '../support/agent-at-work.ts'
import type { AgentAtWork } from '../support/agent-at-work.ts'
import { agentSurroundings } from '../support/agent-surroundings.ts'
import { httpCall } from '../support/http-call.ts'
import type { Reply } from '../support/http-call.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { identityOf } from '../support/own-token.ts'
import { expectProblem } from '../support/problem-matcher.ts'
import { heedsLesson, verifies } from '../verifies.ts'

const params = {
  topic: 'builds',
  view: 'topics',
  item: 'x',
  id: 'task_1',
  token: 'undo_1',
  key: 'tasks/x',
  name: 'x',
  agent: 'ann',
  path: 'x',
  fact: 'fact_1',
  sha256: 'a'.repeat(64),
  file: 'SOUL.md',
  delivery: '1',
}

let mesh: MeshProcess
/** Both agents have an active run all the time. */
let ann: AgentAtWork
let bob: AgentAtWork
/** An agent whose run has ended. */
let eve: AgentAtWork

beforeAll(async () => {
  mesh = await startMesh({ cassettes: { works: longWork } })
  ann = await handingOn('ann')
  bob = await handingOn('bob')
  eve = await handingOn('eve')
  await mesh.call(meshHumanEndpoints.runCancel, { params: { id: eve.run.id } })
  await mesh.ended(eve.run.id)
})
afterAll(() => mesh.stop())

/** Creates an agent with an active run that may hand off tasks. */
async function handingOn(id: string): Promise<AgentAtWork> {
  await mesh.createWorker(id)
  const value = { set: { can_route_tasks: true } }
  await mesh.call(controlEndpoints.agentEdit, { params: { id }, body: { field: 'permissions', value } })
  return agentAtWork(mesh, id)
}

describe("the people's API", () => {
  const guarded = everyOf(
    meshHumanEndpoints,
    vaultHumanEndpoints,
    controlEndpoints,
    journalEndpoints,
    modelsEndpoints,
    moneyEndpoints,
    webhookEndpoints,
  ).filter(([name]) => nameOf(name) !== 'healthz' && nameOf(name) !== 'readyz')
  const writes = guarded.filter(([, endpoint]) => endpoint.method !== 'GET')
  const call = (endpoint: Endpoint, more: Record<string, string>) =>
    mesh.call(endpoint, {
      params,
      headers: more,
      reuses: true,
      ...(endpoint.method === 'GET' ? {} : { body: {} }),
    })

  it.each(guarded)(
    "the people's API refuses %s under a foreign Host, from a foreign page and through a proxy",
    async (_name, endpoint) => {
      verifies('authentication:dashboard:open-without-token-file')
      const port = new URL(mesh.url).port
      expectProblem(await call(endpoint, { host: `evil.example:${port}` }), 'host-refused')
      expectProblem(await call(endpoint, { host: `127.0.0.1.nip.io:${port}` }), 'host-refused')
      expectProblem(await call(endpoint, { host: '127.0.0.1:1' }), 'host-refused')
      expectProblem(await call(endpoint, { origin: 'https://evil.example' }), 'host-refused')
      expectProblem(await call(endpoint, { origin: 'null' }), 'host-refused')
      for (const proxied of ['x-forwarded-for', 'x-forwarded-proto', 'forwarded', 'x-real-ip']) {
        expectProblem(await call(endpoint, { [proxied]: '127.0.0.1' }), 'host-refused')
      }
    },
  )

  it.each(writes)("the people's API refuses %s without X-Requested-With", async (_name, endpoint) => {
    verifies('endpoints:dashboard:requested-with', 'authentication:dashboard:requested-with')
    expectProblem(await call(endpoint, { 'x-requested-with': '' }), 'denied')
  })

  it("the people's API refuses what an agent may hold, wherever it comes from", async () => {
    for (const held of [ann.token, ann.programToken]) {
      const asked = { ...meshHumanEndpoints.status }
      expectProblem(await call(asked, { authorization: `Bearer ${held}` }), 'unauthenticated')
      expectProblem(await call(asked, { 'x-api-key': held }), 'unauthenticated')
    }
  })

  it("the people's API has neither /mesh/webhooks nor /__auth/callback, nor has the agent API", async () => {
    verifies('endpoints:webhook:no-mesh-endpoint')
    for (const api of [mesh.url, ann.api]) {
      for (const path of ['/mesh/webhooks', '/__auth/callback']) {
        for (const method of ['GET', 'POST']) {
          expectProblem(await httpCall({ method, url: `${api}${path}` }), 'not-found')
        }
      }
    }
  })

  it("the people's API has no pages of documentation, and its answers say that they are no pages", async () => {
    heedsLesson(25)
    for (const api of [mesh.url, ann.api]) {
      for (const path of ['/openapi.json', '/docs', '/documentation', '/swagger']) {
        const reply = await httpCall({ method: 'GET', url: `${api}${path}` })
        expectProblem(reply, 'not-found')
        expect(reply.headers).toMatchObject({ 'x-content-type-options': 'nosniff' })
      }
    }
  })

  it("the people's API is open to a direct call of its owner without any cookie, and gives no page of another origin leave to read", async () => {
    verifies('authentication:dashboard:open-without-token-file')
    const asked = await mesh.call(
      { ...meshHumanEndpoints.status, method: 'GET' },
      { headers: { origin: mesh.url } },
    )
    expect(asked.status).toBe(200)
    expect(Object.keys(asked.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  it("the people's API listens on loopback alone, as the agents of plain processes and their API do", async () => {
    const others = Object.values(networkInterfaces()).flatMap((all) =>
      (all ?? []).filter(({ internal }) => !internal),
    )
    const ports = [mesh.url, ann.api, ann.server].map((url) => Number(new URL(url).port))
    for (const port of ports) expect(await opens('127.0.0.1', port), String(port)).toBe(true)
    // All attempts run in parallel, since every container bridge adds addresses, and some of them never answer.
    const tried = others.flatMap(({ address, scopeid }) =>
      ports.map(async (port) => {
        const host = scopeid ? `${address}%${scopeid}` : address
        return { at: `${host} port ${port}`, isOpen: await opens(host, port) }
      }),
    )
    expect((await Promise.all(tried)).filter(({ isOpen }) => isOpen)).toEqual([])
    expect(await listeningAddresses(ports)).toEqual(['0100007F'])
  })
})

describe('what a page of the dashboard does', () => {
  const owners = Object.entries<string>(rolesOfRoutes).filter(
    ([route, role]) => role === 'owner' && !route.startsWith('GET '),
  )
  const writes = owners.map(([route]) => route).filter((route) => !route.includes('/api/setup/'))
  const page = () => ({ origin: mesh.url, 'sec-fetch-site': 'same-origin' })
  const asPage = (endpoint: Endpoint, asked: { id: string; body: object; proof?: string | undefined }) =>
    mesh.call(endpoint, {
      params: { ...params, id: asked.id },
      body: asked.body,
      headers: { ...page(), ...(asked.proof === undefined ? {} : { [headers.ownerProof]: asked.proof }) },
    })
  const edit = (body: object, proof?: string) =>
    asPage(controlEndpoints.agentEdit, { id: 'bob', body, proof })
  const budget = (daily: number, proof?: string) =>
    asPage(moneyEndpoints.budgetSet, {
      id: 'bob',
      body: { scope: 'agent', id: 'bob', daily_usd: daily },
      proof,
    })

  it('a write of an owner from a dashboard page needs the owner’s proof, or the table has a reason', () => {
    expect(
      writes.filter((route) => provedRoutes.has(route) === Object.hasOwn(unprovedWrites, route)),
    ).toEqual([])
    expect(Object.keys(unprovedWrites).filter((route) => !writes.includes(route))).toEqual([])
  })

  it('a write of the dashboard without its proof is rejected on each of those routes, before any other check', async () => {
    for (const route of provedRoutes) {
      const [method, path] = route.split(' ') as [Endpoint['method'], Endpoint['path']]
      const reply = await mesh.call({ method, path, summary: '' }, { params, headers: page() })
      expectProblem(reply, 'proof-wanted')
    }
  })

  it('a write of a dashboard page is refused without the proof if an agent may do more afterwards, and accepted otherwise', async () => {
    const more = { field: 'permissions', value: { set: { can_view_fleet_metrics: true } } }
    expectProblem(await edit(more), 'proof-wanted')
    expectProblem(await edit(more, 'guessed'), 'proof-wanted')
    expectProblem(await edit({ field: 'mcpServers', value: { set: {}, remove: ['x'] } }), 'proof-wanted')
    expect((await edit({ field: 'role', value: 'Counts tea.' })).status).toBe(200)
    expect((await budget(1)).status).toBe(200)
    expectProblem(await budget(2), 'proof-wanted')
    expectProblem(await edit({ field: 'budget', value: { daily_usd: 2 } }), 'proof-wanted')
    const created = { id: 'rich', role: 'r', budget: { daily_usd: 900, monthly_usd: 9000 } }
    expectProblem(await asPage(meshHumanEndpoints.agentCreate, { id: 'x', body: created }), 'proof-wanted')
    const { code } = (await mesh.call(peopleAdminEndpoints.proofCode)).json()
    const given = await mesh.call(peopleAdminEndpoints.proofGive, { headers: page(), body: { code } })
    const proof = String(given.json()['proof'])
    const widened = await edit(more, proof)
    expect(widened.status, widened.text).toBe(200)
    expect((await budget(2, proof)).status).toBe(200)
    // Undoing a change may widen permissions as well.
    const undo = await mesh.call(controlEndpoints.changeUndo, {
      params: { token: String(widened.json()['undo_token']) },
      headers: page(),
    })
    expectProblem(undo, 'proof-wanted')
  })

  it('the proof endpoint counts and records no attempt while no code is open', async () => {
    const refusals = async () =>
      (await mesh.call(journalEndpoints.journalExport)).text.split('proof.refused').length
    const before = await refusals()
    for (let tries = 0; tries < 8; tries++) {
      const tried = { headers: page(), body: { code: '1' } }
      expectProblem(await mesh.call(peopleAdminEndpoints.proofGive, tried), 'rate-limited')
    }
    expect(await refusals()).toBe(before)
  })

  it('a picture in a page of another site reads nothing and wakes no agent', async () => {
    const picture = { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }
    for (const site of ['cross-site', 'same-site'])
      for (const path of ['/api/agents/bob/workspace', '/api/events', '/fleet'])
        expectProblem(
          await httpCall({
            method: 'GET',
            url: `${mesh.url}${path}`,
            headers: { 'sec-fetch-site': site, ...picture },
          }),
          'host-refused',
        )
  })
})

describe('the internal API', () => {
  it.each(Object.entries<Endpoint>(meshInternalEndpoints))(
    'the internal API opens %s to loopback and marker together',
    async (_name, endpoint) => {
      verifies('authentication:internal:header', 'authentication:internal:loopback')
      const marked = { 'x-mesh-internal': '1' }
      const call = (more: Record<string, string> = {}) =>
        mesh.call(endpoint, { params: { id: 'ann' }, headers: more })
      expect((await call(marked)).status).toBe(200)
      expectProblem(await call(), 'unauthenticated')
      expectProblem(await call({ 'x-mesh-internal': 'true' }), 'unauthenticated')
      expectProblem(await call({ ...marked, 'x-forwarded-for': '127.0.0.1' }), 'unauthenticated')
      expectProblem(await call({ ...marked, host: 'evil.example' }), 'unauthenticated')
    },
  )

  it('the internal API is not on the agent API', async () => {
    const { method, path } = meshInternalEndpoints.journalVerify
    const reply = await httpCall({
      method,
      url: `${ann.api}${path}`,
      headers: { [headers.meshInternal]: '1' },
    })
    expectProblem(reply, 'not-found')
  })
})

describe('the agent API', () => {
  // The other model endpoints refuse in the format of their provider, which the tests of their clients check.
  const { embeddings, model } = modelEndpoints
  const models = { embeddings, model }
  const all = everyOf(
    meshAgentEndpoints,
    models,
    harnessEndpoints,
    vaultAgentEndpoints,
    resourceRequestEndpoints,
    skillEndpoints,
    toolEndpoints,
    operatorEndpoints,
    operatorViewEndpoints,
  )
  const tools = all.filter(([, endpoint]) => endpoint.path.startsWith('/mesh'))
  let calls = 0
  const knock = (
    endpoint: Endpoint,
    token: string,
    said: { more?: Record<string, string>; body?: unknown } = {},
  ) => {
    const { more = {}, body = {} } = said
    const writes = endpoint.method !== 'GET'
    return httpCall({
      method: endpoint.method,
      url: `${ann.api}${fillPath(endpoint.path, params)}`,
      headers: {
        authorization: `Bearer ${token}`,
        [headers.idempotencyKey]: `key ${(calls += 1)}`,
        ...(writes ? { 'content-type': 'application/json' } : {}),
        ...more,
      },
      ...(writes ? { body: JSON.stringify(body) } : {}),
    })
  }
  const ticket = (who: typeof ann) => ({
    [headers.runId]: who.run.id,
    [headers.runFence]: String(who.run.fence),
  })
  const write = (who: typeof ann, more: Record<string, string>, body: unknown) =>
    knock(meshAgentEndpoints.blackboardWrite, who.token, { more: { ...ticket(who), ...more }, body })

  it.each(all)(
    'the agent API refuses %s to an agent that names the run of another, or a fence that is over',
    async (name, endpoint) => {
      const body = bodies[nameOf(name)] ?? {}
      expectProblem(await knock(endpoint, ann.token, { more: ticket(bob), body }), 'stale-fence')
      const over = { [headers.runId]: ann.run.id, [headers.runFence]: String(ann.run.fence - 1) }
      expectProblem(await knock(endpoint, ann.token, { more: over, body }), 'stale-fence')
      expectProblem(await knock(endpoint, ann.token, { body }), 'bad-request')
    },
  )

  it.each(all)('the agent API refuses %s to an agent whose run has ended', async (name, endpoint) => {
    const body = bodies[nameOf(name)] ?? {}
    expectProblem(await knock(endpoint, eve.token, { more: ticket(eve), body }), 'stale-fence')
  })

  it.each(tools)('the agent API denies %s to programs', async (name, endpoint) => {
    expectProblem(
      await knock(endpoint, ann.programToken, { more: ticket(ann), body: bodies[nameOf(name)] }),
      'denied',
    )
  })

  it('the agent API lets in the same call with the right token and ticket', async () => {
    const reply = await knock(meshAgentEndpoints.agents, ann.token, { more: ticket(ann) })
    expect(reply.status, reply.text).toBe(200)
  })

  it('the agent API takes who acts from the token alone: names in headers, paths and bodies count for nothing', async () => {
    heedsLesson(3, 13)
    const named = { 'x-agent-id': 'operator', 'x-flotilla-agent': 'operator', [headers.meshInternal]: '1' }
    const written = await write(ann, named, { value: 1 })
    expect(written.json()).toMatchObject({ written_by: 'ann' })
    expectProblem(await write(ann, {}, { value: 1, written_by: 'operator' }), 'bad-request')
    const body = { to: 'operator', title: 't', creator: 'operator' }
    expectProblem(
      await knock(meshAgentEndpoints.handOff, ann.token, { more: ticket(ann), body }),
      'bad-request',
    )
  })

  it('the agent API asks the permission record of that agent', async () => {
    verifies('errors:permissions:absent', 'authentication:permissions:default-deny')
    const { method, path } = meshAgentEndpoints.blackboardWrite
    const elsewhere = { method, path: fillPath(path, { key: 'secrets/x' }), summary: '' } as const
    expectProblem(await knock(elsewhere, ann.token, { more: ticket(ann), body: { value: 1 } }), 'denied')
    // A forbidden recipient and one that does not exist look the same.
    for (const to of ['bob', 'nobody']) {
      const body = { to, title: 't' }
      expectProblem(await knock(meshAgentEndpoints.handOff, ann.token, { more: ticket(ann), body }), 'denied')
    }
  })

  it('the agent API keeps another agent from closing a task that is not its own', async () => {
    heedsLesson(41)
    const body = { to: 'operator', title: 'For you' }
    const given = await knock(meshAgentEndpoints.handOff, ann.token, { more: ticket(ann), body })
    expect(given.status, given.text).toBe(200)
    const { method, path, summary } = meshAgentEndpoints.completeTask
    const endpoint = { method, path: fillPath(path, { id: String(given.json()['task_id']) }), summary }
    const closing = { more: ticket(bob), body: { summary: 'mine' } }
    expectProblem(await knock(endpoint, bob.token, closing), 'denied', 'not-found')
  })

  it('the agent API spends nothing in the name of an agent with no run', async () => {
    await mesh.createWorker('idle')
    await mesh.invoke('idle', 'list_files', {})
    const { programToken } = await agentSurroundings(mesh, 'idle')
    expectProblem(await knock(meshAgentEndpoints.models, programToken), 'denied')
    expectProblem(await knock(meshAgentEndpoints.chatCompletions, programToken), 'denied')
  })
})

describe("an agent's own server", () => {
  const walk = Object.entries<Endpoint>(agentEndpoints)
  const knock = (endpoint: Endpoint, authorization?: string): Promise<Reply> =>
    httpCall({
      method: endpoint.method,
      url: `${ann.server}${fillPath(endpoint.path, params)}`,
      headers: authorization === undefined ? {} : { authorization },
      ...(endpoint.method === 'GET' ? {} : { body: '{}' }),
    })

  it.each(walk.filter(([name]) => name !== 'healthz'))(
    "an agent's own server wants the mesh's proof on %s",
    async (_name, endpoint) => {
      heedsLesson(1)
      const forged = makeMeshKey().proofFor('ann')
      const forAnother = `Bearer ${(await identityOf(mesh.home)).signFor('bob')}`
      const old = `Bearer ${(await identityOf(mesh.home, -301_000)).signFor('ann')}`
      const early = `Bearer ${(await identityOf(mesh.home, 900_000)).signFor('ann')}`
      const tokens = [
        undefined,
        forged,
        forAnother,
        old,
        early,
        `Bearer ${ann.token}`,
        `Bearer ${ann.programToken}`,
      ]
      for (const token of tokens) expectProblem(await knock(endpoint, token), 'unauthenticated')
    },
  )

  it('the server of an agent trusts the mesh, and answers liveness checks of any caller', async () => {
    verifies('endpoints:agent:get-status')
    const proof = `Bearer ${(await identityOf(mesh.home)).signFor('ann')}`
    const status = await knock(agentEndpoints.status, proof)
    expect(status.json()).toMatchObject({
      agent_id: 'ann',
      state: 'working',
      current: { run_id: ann.run.id },
    })
    expect((await knock(agentEndpoints.healthz)).status).toBe(200)
  })

  it("an agent's own server keeps its agent token out of the environment and off the disk", async () => {
    verifies('authentication:zone-1:no-llm-keys')
    expect(Object.keys(ann.environment).filter((name) => /TOKEN|SECRET|SYSTEM_/.test(name))).toEqual([])
    const left = await mesh.invoke('idle', 'run_command', {
      command: 'find . -name "*token*"; cat .flotilla/door-token; true',
    })
    expect(JSON.stringify(left.outcome?.result)).toContain('No such file')
    expect(JSON.stringify(left.outcome?.result)).not.toMatch(/\.\/\S*token/)
    const secret = (await readFile(`${mesh.home}/data/mesh-secret`, 'utf8')).trim()
    expect(JSON.stringify(ann.environment)).not.toContain(secret)
    expect(mesh.log()).not.toContain(secret)
  })
})

/** Every endpoint of these files with its name; names are unique within a file only. */
function everyOf(...files: readonly Readonly<Record<string, Endpoint>>[]): [string, Endpoint][] {
  return files.flatMap((file) =>
    Object.entries(file).map(([name, endpoint]): [string, Endpoint] => [
      `${name} (${endpoint.method} ${endpoint.path})`,
      endpoint,
    ]),
  )
}

const nameOf = (title: string): string => title.split(' ')[0] ?? ''

/** Valid bodies, so that only the caller can be the reason of a refusal. */
const bodies: Readonly<Record<string, unknown>> = {
  blackboardWrite: { value: 1 },
  handOff: { to: 'operator', title: 't' },
  steer: { text: 't' },
  steersTaken: { ids: ['steer_1'], step: 0 },
  completeTask: { summary: 's' },
  embeddings: { model: 'offline/hashed-words', input: 'work' },
  saveArtifact: { name: 'a.txt', content_base64: '' },
  notify: { message: 'm' },
  agentCreate: { id: 'x', role: 'r' },
  agentEdit: { field: 'role', value: 'r', reason: 'r' },
  httpRequest: { url: 'http://127.0.0.1:1/' },
  webSearch: { query: 'tea' },
  vaultGenerate: { name: 'x' },
  credentialRequest: { name: 'x', service: 's', description: 'd' },
  packagesRequest: { packages: { apt: ['hello'] }, reason: 'r' },
  sizeRequest: { memory_mb: 512, reason: 'r' },
  skillCheck: { source: '' },
  chatCompletions: { model: 'scripted/works', messages: [{ role: 'user', content: 'work' }] },
}

/**
 * Writes of owners for which a page needs no proof, each with its reason. Set-up decides this in its own use cases.
 */
const unprovedWrites: Readonly<Record<string, string>> = {
  'POST /api/policy/test': 'decides the cases of a text and changes nothing',
  'DELETE /api/egress/inspection/{host}': 'makes the host a tunnel again, as every other host is',
  'PUT /api/egress/inspection/{host}':
    'sends nothing anywhere: requests to the host are decided more strictly',
  'PUT /api/egress/tunnels/{host}': 'makes the host a tunnel, as every host is that no owner named',
  'DELETE /api/blackboard/{*key}': 'its history keeps what stood there',
  'DELETE /api/recording': 'gives conversations to who may read them anyway',
  'PATCH /api/webhooks/{id}': 'asked in the use case where signatures are no longer wanted',
  'POST /api/agents': 'asked in the use case for MCP servers and what is above the operator’s ceiling',
  'POST /api/agents/{id}/packages/rebuild': 'installs newer versions of packages that the owner chose',
  'POST /api/backups/{name}/verify':
    'reads a file that lies in the home, and tells an owner whether it is whole',
  'POST /api/blackboard-watches':
    'wakes an agent at most as often as its budget pays for, and can be given back',
  'POST /api/credential-requests/{id}/deny': 'gives nothing; the agent asks again',
  'POST /api/pauses': 'stops work, and is taken back',
  'POST /api/pauses/resume': 'goes on with what budgets and permissions allow',
  'POST /api/pending/{id}/cancel': 'lets nothing happen; the agent asks again',
  'POST /api/projects/{name}/manage': 'renames and puts away, and is taken back',
  'POST /api/recording': 'keeps in memory what runs say, for who may read them anyway',
  'PUT /api/watchers':
    'asks for it in its use case, before a folder is watched; to stop watching tells nobody anything',
  'POST /api/templates/apply':
    'asked in the use case for MCP servers, watched folders, and what gives agents that are there more',
  'POST /api/templates/plan': 'changes nothing',
  'POST /api/templates/{name}/apply':
    'makes new agents below the operator’s ceiling; MCP servers and watched folders are asked for there',
  'POST /api/wallet/addresses': 'tells an address, which is public; an index more is spent',
  'POST /api/wallet/unlock': 'wants the passphrase, which no page keeps',
  'POST /api/webhooks':
    'asked in the use case where no signatures are wanted; with them the page alone has the secret',
  'POST /api/webhooks/{id}/deliveries/{delivery}/replay': 'starts a run that came before, paid by its agent',
  'POST /api/webhooks/{id}/test': 'starts a run, as a message to the agent does',
  'PUT /api/agents/{id}/size': 'gives no more than the machine has, and is taken back',
  'PUT /api/agents/{id}/project': 'asked in the use case where a budget holds the agent',
  'PUT /api/blackboard/{*key}': 'its history keeps what stood there',
  'PUT /api/channel-notices': 'tells owners alone, where they paired themselves, and is taken back',
  'PUT /api/projects/{name}/text': 'words for agents, as in a message to them',
}

function opens(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 2000 })
    const end = (open: boolean) => {
      socket.destroy()
      resolve(open)
    }
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
    socket.once('timeout', () => end(false))
  })
}

/** Local addresses of listeners on these ports as the kernel writes them, IPv6 included. */
async function listeningAddresses(ports: readonly number[]): Promise<string[]> {
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')),
  )
  const listening = tables
    .flatMap((table) => table.split('\n'))
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([, local = '', , state]) =>
        state === '0A' && ports.includes(Number.parseInt(local.split(':')[1] ?? '', 16)),
    )
  return [...new Set(listening.map(([, local = '']) => local.split(':')[0] ?? ''))]
}
