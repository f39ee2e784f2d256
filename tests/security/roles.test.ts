import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Endpoint } from '@flotilla/protocol/endpoint'
import { fillPath } from '@flotilla/protocol/endpoint'
import { personRoles, roleReaches } from '@flotilla/protocol/people'
import type { PersonRole } from '@flotilla/protocol/people'
import { Problem } from '@flotilla/protocol/problem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { HumanCaller } from '../../packages/identity/src/access/caller.ts'
import type { MeshModule } from '../../packages/identity/src/kernel/mesh-module.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { aPowerCutHome } from '../support/power-cut-home.ts'
import type { PowerCutHome } from '../support/power-cut-home.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { authenticationTable } from './authentication-table.ts'

const routes = Object.entries(authenticationTable.people) as readonly (readonly [string, PersonRole])[]
const params = {
  credential: 'zzz',
  id: 'zzz',
  name: 'zzz',
  agent: 'zzz',
  token: 'zzz',
  key: 'zzz',
  delivery: '1',
  path: 'zzz',
  file: 'zzz',
  fact: 'fact_1',
  sha256: 'a'.repeat(64),
  topic: 'builds',
  view: 'topics',
  item: 'x',
  part: 'providers',
  host: 'code.test',
}
const run = promisify(execFile)

let mesh: MeshProcess
const tokens: Record<string, string> = {}
beforeAll(async () => {
  mesh = await startMesh({ cassettes: { roles: aCassette({ when: '^hello$', turns: [says('Hello.')] }) } })
  for (const agent of ['ada', 'bob']) await mesh.createWorker(agent)
  await add('vic', 'viewer')
  await add('ann', 'member', '--agents', 'ada,zzz')
  await add('sam', 'member', '--agents', '*')
  await add('odo', 'owner')
})
afterAll(() => mesh.stop())

async function add(name: string, role: PersonRole, ...more: string[]): Promise<void> {
  const added = await flotilla(mesh, 'people', 'add', name, '--role', role, ...more, '--json')
  expect(added).toMatchObject({ code: 0 })
  tokens[name] = (JSON.parse(added.out) as { token: string }).token
}

interface Answer {
  readonly status: number
  readonly code: string
  readonly detail: string
}

/** Sends a request; the body of the answer is read only if it is a refusal. */
async function ask(route: string, token: string | null, body: unknown = {}): Promise<Answer> {
  const [method = '', path = ''] = route.split(' ')
  const stop = new AbortController()
  const reply = await fetch(mesh.url + fillPath(path, params), {
    method,
    headers: {
      'x-requested-with': 'test',
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(method === 'GET' ? {} : { body: JSON.stringify(body) }),
    signal: stop.signal,
  })
  const text = reply.ok ? '{}' : await reply.text()
  stop.abort()
  const { code = '', detail = '' } = JSON.parse(text) as { code?: string; detail?: string }
  return { status: reply.status, code, detail }
}

const who: Readonly<Record<PersonRole, string>> = { viewer: 'vic', member: 'ann', owner: 'odo' }

describe.each(personRoles.filter((role) => role !== 'owner'))('over the wire, a %s', (role) => {
  test.each(routes)(
    'a person reaches %s, which requires the role %s, only with that role',
    async (route, wanted) => {
      const { status, code, detail } = await ask(route, tokens[who[role]] ?? '')
      const refusedByRole = status === 403 && code === 'denied' && detail.includes('requires the role')
      expect({ route, refusedByRole, status }).toEqual({
        route,
        refusedByRole: !roleReaches(role, wanted),
        status,
      })
      // A caller with a valid token never gets 401.
      expect(status).not.toBe(401)
    },
  )
})

test('an unknown token opens no route, even if the route needs none', async () => {
  const found = await Promise.all(routes.map(([route]) => ask(route, 'flp_nobody')))
  expect(found.filter(({ status }) => status !== 401)).toEqual([])
})

test('an owner by token may all that is asked by method and path, and the owner of the machine too', async () => {
  const readable = routes.filter(([route]) => route.startsWith('GET ') && !route.endsWith('/journal'))
  for (const token of [tokens['odo'] ?? '', null]) {
    const found = await Promise.all(readable.map(([route]) => ask(route, token)))
    expect(found.filter(({ status }) => status === 401 || status === 403)).toEqual([])
  }
})

describe('a member acts on what it is granted', () => {
  const onAgent = (agent: string): readonly (readonly [string, string, unknown])[] => [
    ['POST', `/api/agents/${agent}/chat`, { message: 'hello' }],
    ['POST', `/api/agents/${agent}/chat/reset`, {}],
    ['POST', `/api/agents/${agent}/steer`, { text: 'hello' }],
    ['POST', `/api/agents/${agent}/invoke`, { tool: 'list_files', params: {} }],
    ['POST', `/api/agents/${agent}/edit`, { field: 'role', value: 'other' }],
    ['POST', `/api/agents/${agent}/restart`, {}],
    ['POST', `/api/agents/${agent}/archive`, {}],
    ['POST', `/api/agents/${agent}/unarchive`, {}],
    ['POST', `/api/agents/${agent}/heartbeat`, {}],
    ['PUT', `/api/agents/${agent}/heartbeat`, { schedule: 'every 30m' }],
    ['PUT', `/api/agents/${agent}/files/note.txt`, {}],
    ['PUT', '/api/budgets', { scope: 'agent', id: agent, daily_usd: 1 }],
    ['POST', '/api/tasks', { to: agent, title: 'Count' }],
    ['POST', '/api/cron', { agent, schedule: 'every 30m', message: 'hello' }],
  ]

  test.each([...onAgent('bob'), ...onAgent('operator')])(
    'a member does not %s %s',
    async (method, path, body) => {
      const { status, detail } = await ask(`${method} ${path}`, tokens['ann'] ?? '', body)
      expect({ status, detail }).toEqual({
        status: 403,
        detail: expect.stringContaining(
          'is not among the agents granted to this person; ann is a member of ada',
        ),
      })
    },
  )

  test('a grant of * is every worker and not the operator', async () => {
    const token = tokens['sam'] ?? ''
    expect(await ask('POST /api/agents/bob/chat/reset', token)).toMatchObject({ status: 200 })
    expect(await ask('POST /api/agents/operator/chat/reset', token)).toMatchObject({ status: 403 })
  })

  test.each([
    [
      'permissions',
      { field: 'permissions', value: { set: { can_manage_cron: true } } },
      'only an owner may change permissions',
    ],
    [
      'fewer permissions',
      { field: 'permissions', value: { remove: { can_message: ['operator'] } } },
      'only an owner may change permissions',
    ],
    ['MCP servers', { field: 'mcpServers', value: {} }, 'only an owner may change MCP servers'],
    ['more money', { field: 'budget', value: { daily_usd: 900, monthly_usd: 20_000 } }, 'raise'],
  ])('a member does not change the %s of an agent', async (_what, body, words) => {
    const edited = await ask('POST /api/agents/ada/edit', tokens['ann'] ?? '', body)
    expect(edited).toMatchObject({ status: 403 })
    expect(edited.detail).toContain(words)
  })

  test('a member does not undo an owner’s change of permissions', async () => {
    const changed = await flotilla(mesh, 'permissions', 'set', 'ada', 'can_manage_cron=true', '--json')
    expect(changed.code).toBe(0)
    const { changes } = (await (await fetch(`${mesh.url}/api/changes`)).json()) as {
      changes: { undo_token: string; field: string }[]
    }
    const token = changes.find(({ field }) => field === 'permissions')?.undo_token ?? ''
    expect(await ask(`POST /api/changes/${token}/undo`, tokens['ann'] ?? '')).toMatchObject({
      status: 403,
      detail: expect.stringContaining('only an owner may change permissions'),
    })
  })

  test('a member lowers the budget of a granted agent and raises none, through either API', async () => {
    const lower = { scope: 'agent', id: 'ada', daily_usd: 2 }
    expect(await ask('PUT /api/budgets', tokens['ann'] ?? '', lower)).toMatchObject({ status: 200 })
    const raised = await ask('PUT /api/budgets', tokens['ann'] ?? '', { ...lower, daily_usd: 3 })
    expect(raised).toMatchObject({ status: 403, code: 'human-only' })
    const fleet = { scope: 'fleet', id: '', daily_usd: 1 }
    expect(await ask('PUT /api/budgets', tokens['ann'] ?? '', fleet)).toMatchObject({ status: 403 })
  })
})

describe('people with curl', () => {
  const curl = async (token: string, ...more: string[]) => {
    const given = ['-sS', '-H', `Authorization: Bearer ${token}`, '-H', 'X-Requested-With: curl', ...more]
    return JSON.parse((await run('curl', given)).stdout) as Record<string, unknown>
  }
  const chat = (token: string, agent: string) =>
    curl(
      token,
      '-H',
      'Content-Type: application/json',
      '-d',
      '{"message":"hello"}',
      `${mesh.url}/api/agents/${agent}/chat`,
    )

  test('people with curl are who their token says, and a run and the journal name them', async () => {
    expect(await curl(tokens['ann'] ?? '', `${mesh.url}/api/me`)).toEqual({
      name: 'ann',
      role: 'member',
      agents: ['ada', 'zzz'],
    })
    expect(await chat(tokens['ann'] ?? '', 'ada')).toMatchObject({
      state: 'done',
      origin: { kind: 'human', channel: 'api', user: 'ann' },
      input: { session: 'api:ann' },
    })
    expect(await chat(tokens['vic'] ?? '', 'ada')).toMatchObject({ status: 403, code: 'denied' })
    const journal = await (await fetch(`${mesh.url}/api/journal?format=rows`)).text()
    const rows = journal
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(rows).toContainEqual(expect.objectContaining({ actor: 'human:ann@api', action: 'run.submitted' }))
    expect(rows).toContainEqual(
      expect.objectContaining({ actor: 'human:vic@api', action: 'permission.denied' }),
    )
    expect(rows).toContainEqual(
      expect.objectContaining({ actor: 'human:cli', action: 'person.added', subject: 'ann' }),
    )
    expect(journal).not.toContain(tokens['ann'])
  })

  test('an open stream ends and nothing more is sent once a token is replaced or its person removed', async () => {
    await add('eve', 'viewer')
    const old = tokens['eve'] ?? ''
    const stream = await fetch(`${mesh.url}/api/events`, { headers: { authorization: `Bearer ${old}` } })
    expect(stream.status).toBe(200)
    const reading = stream.text().then(
      () => 'ended',
      () => 'cut off',
    )
    const rotated = await flotilla(mesh, 'people', 'rotate', 'eve')
    expect(rotated.code).toBe(0)
    expect(await reading).toBe('cut off')
    const fresh = /flp_\S+/.exec(rotated.out)?.[0] ?? ''
    expect(await ask('GET /api/status', old)).toMatchObject({ status: 401 })
    expect(await ask('GET /api/status', fresh)).toMatchObject({ status: 200 })
    expect(await flotilla(mesh, 'people', 'remove', 'eve')).toMatchObject({ code: 0 })
    expect(await ask('GET /api/status', fresh)).toMatchObject({ status: 401 })
  })

  test('people are rejected while the file is broken, and the owner sees the line', async () => {
    const path = join(mesh.home, 'config', 'people.json')
    const whole = await readFile(path, 'utf8')
    await writeFile(path, whole.replace('"viewer"', '"voyeur"'))
    await eventually(
      'a refusal',
      async () => (await ask('GET /api/status', tokens['vic'] ?? '')).status === 401,
    )
    expect(await ask('GET /api/status', null)).toMatchObject({ status: 200 })
    const listed = await flotilla(mesh, 'people')
    expect(listed.code).not.toBe(0)
    expect(listed.err).toMatch(/config\/people\.json line \d+: people\.0\.role/)
    expect(listed.err).toContain('Repair config/people.json by hand')
    await writeFile(path, whole)
    await eventually(
      'to be let in',
      async () => (await ask('GET /api/status', tokens['vic'] ?? '')).status === 200,
    )
  })
})

describe('behind the role of the route, the guard of each use case', () => {
  let home: PowerCutHome
  beforeAll(async () => void (home = await aPowerCutHome(['ada'])))
  afterAll(() => home.close())

  const viewer: HumanCaller = {
    kind: 'human',
    channel: 'api',
    role: 'viewer',
    person: 'vic',
    agents: ['*', 'ada'],
  }
  const member: HumanCaller = {
    kind: 'human',
    channel: 'api',
    role: 'member',
    person: 'ann',
    agents: ['*', 'operator'],
  }

  test.each([
    ['a viewer', viewer],
    ['a member of all', member],
  ] as const)(
    'behind the role of the route, the guard of each use case refuses %s whatever the route lets in',
    async (_who, caller) => {
      const beyond = new Set(
        routes.filter(([, wanted]) => !roleReaches(caller.role, wanted)).map(([route]) => route),
      )
      const outcomes = await home.with(({ modules }) =>
        Promise.all(
          handlersOf(modules.map(([, module]) => module))
            .filter(([route]) => beyond.has(route))
            .map(async ([route, handler]) => ({ route, outcome: await outcomeOf(handler, caller) })),
        ),
      )
      expect(outcomes.filter(({ outcome }) => outcome !== 'denied')).toEqual([])
      expect(outcomes).toHaveLength(beyond.size)
    },
  )
})

type Handler = (request: unknown) => unknown

function handlersOf(modules: readonly MeshModule[]): readonly (readonly [string, Handler])[] {
  const found: [string, Handler][] = []
  const scope = new Proxy({}, { get: () => () => {} })
  const bind = ({ method, path }: Endpoint, _schemas: unknown, handler: Handler) =>
    void found.push([`${method} ${path}`, handler])
  for (const { routes: offered } of modules) offered?.people?.({ bind, scope, keepAliveMs: 1 } as never)
  return found
}

/**
 * Takes the place of every parsed input, since the guard decides before any of it is used. Also converts to a
 * number.
 */
const anything: object = new Proxy(
  {},
  { get: (_none, name) => (typeof name === 'symbol' ? undefined : '1'), has: () => false },
)

async function outcomeOf(handler: Handler, caller: HumanCaller): Promise<string> {
  const raw = { headers: {}, body: Buffer.alloc(0) }
  const reply = {
    raw: { once: () => {}, on: () => {}, destroyed: true },
    code: () => reply,
    type: () => reply,
    header: () => reply,
    send: () => reply,
    hijack: () => {},
  }
  const gone = () => AbortSignal.abort()
  try {
    await handler({ caller, params: anything, query: anything, body: anything, raw, reply, gone })
    return 'done'
  } catch (error) {
    if (!(error instanceof Problem)) return `threw ${String(error)}`
    return error.code === 'human-only' ? 'denied' : error.code
  }
}
