import { join } from 'node:path'
import process from 'node:process'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { mcpHumanEndpoints } from '@flotilla/protocol/mcp-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { heedsLesson } from '../verifies.ts'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { startMcpWebServer } from '../support/mcp-web-server.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import type { WebServer } from '../support/web-server.ts'
import { flotilla } from '../support/flotilla-command.ts'

const program = join(repositoryRoot, 'tests', 'support', 'mcp-program.mjs')
const key = 'key-of-the-wiki-0815'
const local = (mode: string, more: object = {}) => ({
  command: process.execPath,
  args: [program, mode],
  // Allows for a machine under heavy load.
  startupTimeoutMs: 60_000,
  ...more,
})

let web: WebServer
let mesh: MeshProcess

const day = aCassette(
  {
    when: '^add$',
    turns: [calls('add', { a: 20, b: 22 }), says('{{sum}}', { capture: { sum: '(the sum is \\d+)' } })],
  },
  {
    when: '^grow$',
    turns: [
      calls('grow', {}),
      calls('run_command', { command: 'sleep 1' }),
      calls('grown', {}),
      says('{{it}}', { capture: { it: '(new here)' } }),
    ],
  },
)

beforeAll(async () => {
  web = await startMcpWebServer()
  mesh = await startMesh({
    cassettes: { day },
    settings: { egress: { allowed_private: [`127.0.0.1:${web.port}`] } },
  })
})
afterAll(async () => {
  await mesh?.stop()
  await web?.close()
})

async function anAgent(id: string, set: object): Promise<void> {
  await mesh.createWorker(id)
  await give(id, set)
}
async function give(id: string, set: object, remove: readonly string[] = []): Promise<void> {
  const reply = await mesh.call(controlEndpoints.agentEdit, {
    params: { id },
    body: { field: 'mcpServers', value: { set, remove }, reason: '' },
  })
  expect(reply.status, reply.text).toBe(200)
}
async function run(agent: string, tool: string, input: object = {}): Promise<string> {
  const { outcome } = await mesh.invoke(agent, tool, input)
  return outcome?.text ?? ''
}
interface Listed {
  readonly servers: readonly {
    name: string
    state: string
    detail: string
    protocol: string | null
    tools: string[]
  }[]
}
const list = async (id: string): Promise<Listed> =>
  (await mesh.call(mcpHumanEndpoints.mcpServers, { params: { id } })).json() as unknown as Listed
/** Runs a command as a person does. */
const cli = (words: readonly string[], input = '') =>
  flotilla({ url: mesh.url, home: mesh.home, input }, ...words)

describe('an agent with a program as its MCP server', () => {
  beforeAll(() => anAgent('clerk', { files: local('plain', { env: { COLOR: 'green' } }) }))

  it('an agent with a program as its MCP server starts it with the first run and calls its tools, by a model and by hand', async () => {
    expect((await list('clerk')).servers).toMatchObject([{ name: 'files', state: 'not-started' }])
    const chat = await mesh.ended(await mesh.submit('add', { agent: 'clerk' }))
    expect(chat.outcome?.text).toBe('the sum is 42')
    expect(await run('clerk', 'facts')).toContain('"answer": 42')
    expect(await run('clerk', 'picture')).toBe('[image image/png, 9 bytes]')
    expect(await run('clerk', 'refuse')).toContain('I do not want to')
    const [server] = (await list('clerk')).servers
    expect(server).toMatchObject({ state: 'running', protocol: '2026-07-28' })
    expect(server?.tools).toContain('add')
  })

  it('an agent with a program as its MCP server keeps its own tools: one of the same name has the server’s before it', async () => {
    heedsLesson(39)
    expect(await run('clerk', 'run_command', { command: 'echo mine' })).toContain('mine')
    expect(await run('clerk', 'files__run_command')).toBe('run by the server')
  })

  it('an agent gives its MCP server what programs get: no agent token, in no file and no environment', async () => {
    const seen = JSON.parse(await run('clerk', 'environment')) as {
      own: Record<string, string>
      parent: string
      cwd: string
    }
    expect(seen.own['COLOR']).toBe('green')
    expect(Object.keys(seen.own).filter((name) => name.startsWith('FLOTILLA_'))).toEqual([])
    expect(seen.cwd).toBe(mesh.dataOf('clerk'))
    const briefing = /FLOTILLA_BRIEFING=([^\0]+)/.exec(seen.parent)?.[1] ?? ''
    expect(await run('clerk', 'read', { path: `${briefing}/mcp.json` })).toContain('COLOR')
    expect(await run('clerk', 'read', { path: `${briefing}/door-token` })).toContain('ENOENT')
  })

  it('an agent with a program as its MCP server is given a tool that the server adds while a run goes on', async () => {
    const chat = await mesh.ended(await mesh.submit('grow', { agent: 'clerk' }))
    expect(chat.outcome?.text).toBe('new here')
  })

  it('an agent gets an error when its MCP server dies during a call, and can use it again after the cooldown', async () => {
    const died = await run('clerk', 'die')
    expect(died).toContain('the effect of the call is unknown')
    expect(died).toContain('exit code 7')
    expect(died).toContain('out of ideas')
    await eventually('it runs again', async () =>
      (await run('clerk', 'add', { a: 1, b: 1 })).includes('sum is 2'),
    )
  })

  it('an agent with a program as its MCP server loses it with the next run when it is taken away', async () => {
    const near = await cli(['mcp', 'add', 'clerk', 'near', '--http', 'http://127.0.0.1:3999/mcp'])
    expect(near.err).toContain('add "127.0.0.1:3999" to egress.allowed_private')
    expect((await list('clerk')).servers).toMatchObject([
      { name: 'files', notices: [] },
      { name: 'near', notices: [expect.stringContaining('127.0.0.1:3999 is not a public address')] },
    ])
    await give('clerk', {}, ['near'])
    const gone = await cli(['mcp', 'remove', 'clerk', 'files'])
    expect(gone.out, gone.err).toContain('clerk no longer has the MCP server files')
    expect(await run('clerk', 'add', { a: 1, b: 1 })).toContain('add')
    expect((await list('clerk')).servers).toEqual([])
  })
})

describe('servers of the older protocol', () => {
  it('servers of the older protocol are spoken to in it, also where one ends at words that it does not know', async () => {
    await anAgent('elder', { old: local('old'), prim: local('ends-at-strange-words') })
    expect(await run('elder', 'old__add', { a: 2, b: 3 })).toBe('the sum is 5')
    expect(await run('elder', 'prim__add', { a: 2, b: 4 })).toBe('the sum is 6')
    expect((await list('elder')).servers.map(({ protocol }) => protocol)).toEqual([
      '2024-11-05',
      '2025-11-25',
    ])
  })
})

describe('servers that do harm', () => {
  it('servers that never answer delay the first run by their timeout, and no other server', async () => {
    heedsLesson(39)
    await anAgent('patient', {
      mute: local('silent', { startupTimeoutMs: 2000 }),
      broken: local('broken'),
      files: local('plain'),
    })
    const told = JSON.parse(await run('patient', 'mcp_servers')) as Listed
    expect(told.servers.map(({ name, state }) => [name, state])).toEqual([
      ['mute', 'failed'],
      ['broken', 'failed'],
      ['files', 'running'],
    ])
    expect(told.servers[0]?.detail).toContain('no answer within 2 s')
    expect(told.servers[1]?.detail).toMatch(/exit code 3 and printed: no settings file/)
    expect(await run('patient', 'add', { a: 1, b: 2 })).toBe('the sum is 3')
  })

  it('long tool descriptions of servers are truncated, cleaned and marked as untrusted', async () => {
    heedsLesson(39)
    await anAgent('wary', { hostile: local('hostile') })
    expect((await run('wary', 'helpful')).length).toBeLessThan(21_000)
    const [server] = (await list('wary')).servers
    expect(server?.tools.length).toBe(201)
    expect(server?.tools.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name))).toBe(true)
    expect(server?.detail).toBe('')
  })
})

describe('an MCP server on the network', () => {
  beforeAll(async () => {
    const url = `http://127.0.0.1:${web.port}`
    await anAgent('reader', {
      wiki: { url: `${url}/leak`, startupTimeoutMs: 60_000, headers: { 'x-key': '$CRED{wiki}' } },
      old: { url: `${url}/sse`, startupTimeoutMs: 60_000 },
      away: { url: `${url}/away`, startupTimeoutMs: 60_000 },
      now: { url: `${url}/mcp`, startupTimeoutMs: 60_000 },
    })
  })

  it('an MCP server on the network is reached through the mesh, by the current transport and the older one', async () => {
    expect(await run('reader', 'old__echo', { text: 'hello' })).toBe('you said hello')
    expect(await run('reader', 'now__echo', { text: 'hello' })).toBe('you said hello')
    expect(await run('reader', 'old__echo', { text: 'again' })).toBe('you said again')
    const { servers } = await list('reader')
    expect(servers.find(({ name }) => name === 'old')?.state).toMatch(/running|stopped/)
  })

  it('a redirect of an MCP server to a private address is not followed', async () => {
    const away = (await list('reader')).servers.find(({ name }) => name === 'away')
    expect(away?.state).toMatch(/failed|starting/)
    expect(away?.detail).toContain('redirect')
    expect(web.requests.filter(({ url }) => url === '/away').length).toBeGreaterThan(0)
  })

  it('an MCP server on the network gets no credential that is not bound to it, and then its value comes back in no words', async () => {
    const wiki = async () => (await list('reader')).servers.find(({ name }) => name === 'wiki')
    const told = () => web.requests.some(({ headers }) => headers['x-key'] === key)
    expect((await wiki())?.detail).toContain('credential-unknown')
    await permit('reader', { allowed_credentials: ['wiki'] })
    const set = await cli(['credentials', 'set', 'wiki', '--host', 'elsewhere.test'], key)
    expect(set.code, set.err).toBe(0)
    await run('reader', 'mcp_servers', { restart: 'wiki' })
    expect((await wiki())?.detail).toContain(
      'credential-refused: the credential wiki is bound to https://elsewhere.test',
    )
    expect(told()).toBe(false)
    const bound = await cli(['credentials', 'bind', 'wiki', `http://127.0.0.1:${web.port}`])
    expect(bound.code, bound.err).toBe(0)
    // The next run automatically starts a server that was only refused.
    expect(await run('reader', 'now__echo', { text: 'next' })).toBe('you said next')
    expect((await wiki())?.state).toBe('running')
    expect(told()).toBe(true)
    const said = await run('reader', 'tell_key')
    expect(said).toBe('[secret] [secret]')
    expect(JSON.stringify(await list('reader'))).not.toContain(key)
  })
})

async function permit(agent: string, change: object): Promise<void> {
  await mesh.call(controlEndpoints.agentEdit, {
    params: { id: agent },
    body: { field: 'permissions', value: { set: change, add: {}, remove: {} }, reason: '' },
  })
}
