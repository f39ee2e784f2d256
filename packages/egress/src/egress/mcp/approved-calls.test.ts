import type { IncomingMessage, ServerResponse } from 'node:http'
import { mcpAgentApi } from '@flotilla/protocol/mcp-api'
import { mcpServersSchema } from '@flotilla/protocol/mcp-servers'
import type { McpServers } from '@flotilla/protocol/mcp-servers'
import { afterEach, describe, expect, test } from 'vitest'
import { collectJournal } from '../../../../../tests/support/collected-ports.ts'
import { aCredentialRoom } from '../../../../../tests/support/credential-room.ts'
import { startMcpWebServer } from '../../../../../tests/support/mcp-web-server.ts'
import { startWebServer } from '../../../../../tests/support/web-server.ts'
import type { WebServer } from '../../../../../tests/support/web-server.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { silentLog } from '../../../../foundation/src/platform/log.ts'
import { aHomeThatAsks, approvalIn } from '../../../../testing/src/approved-requests-harness.ts'
import { person } from '../../../../testing/src/ledger-harness.ts'
import { loopbackFetch } from '../../../../testing/src/loopback-fetch.ts'
import { ownLoop } from '../../../../testing/src/own-loop.ts'
import { policyOf } from '../../../../testing/src/policy-of.ts'
import { createApprovedCalls, mcpApprovalKind } from './approved-calls.ts'
import { createExchangeWithServer } from './exchange-with-server.ts'

const canary = 'canary-of-the-tracker-42'
const running: WebServer[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()))
})

const rules = `rules:
  - { name: calls, match: { mcp_server: web, mcp_tool: '*' }, verdict: ask, reason: The tool writes. }`

/** An agent with an MCP server under a policy that asks for its tools. */
function aDesk(web: WebServer, { policy = rules, path = '/mcp' } = {}) {
  running.push(web)
  const home = aHomeThatAsks()
  const place = `http://mcp.test:${web.port}`
  const current = { servers: mcpServersSchema.parse({ web: { url: `${place}${path}` } }) }
  const { kinds, approvals, effects, confirm } = home.desk()
  const exchanging = {
    checkEffect: policyOf(policy),
    loop: ownLoop(),
    held: { take: () => {}, giveBack: () => {} },
    guard: () => {},
    serversOf: (): McpServers => current.servers,
    fetchFor: () => loopbackFetch(web.port),
    journal: collectJournal(),
    clock: systemClock,
    holdLease: () => () => {},
    credentials: aCredentialRoom({ values: { token: canary }, hosts: { token: [place] } }).open,
    isOver: () => false,
  }
  const logged: string[] = []
  const calls = createApprovedCalls({
    ...exchanging,
    approved: effects,
    log: { ...silentLog, warn: (_fields, line) => void logged.push(line) },
    exchange: createExchangeWithServer({ ...exchanging, ask: () => {} }),
  })
  kinds[mcpApprovalKind] = calls.kind
  const exchange = createExchangeWithServer({ ...exchanging, ask: calls.ask })
  const send = (body: string) =>
    exchange(
      home.caller,
      mcpAgentApi.mcpExchange.request.parse({ server: 'web', url: null, method: 'POST', headers: {}, body }),
      new AbortController().signal,
    )
  const call = (name: string, given: object = {}, more: object = {}) =>
    send(
      JSON.stringify({
        jsonrpc: '2.0',
        id: 7,
        method: 'tools/call',
        params: { name, arguments: given, ...more },
      }),
    ).then(() => expect.fail('it was sent'), approvalIn)
  return { ...home, current, approvals, confirm, call, send, place, logged }
}

/** A server that answers every message with `answer`, or with what it returns for a tool call. */
function aServer(
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => void,
  end: (response: ServerResponse) => void = (response) => void response.writeHead(202).end(),
) {
  return startWebServer((request, response) => {
    if (request.method === 'DELETE') return end(response)
    const body = web.requests.findLast(({ url }) => url === request.url)?.body ?? ''
    if (body.includes('"initialize"')) {
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'session-1' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { protocolVersion: '2025-03-26' } }))
    } else if (body.includes('tools/call')) answer(request, response, body)
    else response.writeHead(202).end()
  }).then((started) => (web = started))
}
let web: WebServer

const json = (result: object) => (_request: IncomingMessage, response: ServerResponse) =>
  void response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', id: 2, ...result }))
const said = (text: string) => json({ result: { content: [{ type: 'text', text }] } })

describe('a tool call that a rule asks for', () => {
  test('is kept and shown, and the server is not called', async () => {
    const server = await aServer(said('done'))
    const { call, approvals } = aDesk(server)
    const id = await call('delete_page', { page: 'x "y"', key: '$CRED{token}' })
    expect(approvals.read(person, id)).toMatchObject({
      kind: 'mcp-call',
      summary: 'call "delete_page" of the MCP server web',
      consequences: [
        `The mesh calls the tool "delete_page" of the MCP server web (http://mcp.test:${server.port}/mcp) for scout, once, in a session of its own.`,
        'Arguments: {"page":"x \\"y\\"","key":"$CRED{token}"}',
        'The mesh fills in the credential token.',
        'The rule calls of config/policy.yaml asks: The tool writes.',
      ],
    })
    expect(server.requests).toEqual([])
  })

  test('is made once in a session of its own after a person approved it', async () => {
    const server = await aServer(said('the page is gone'))
    const { call, confirm } = aDesk(server)
    const id = await call('delete_page', { key: '$CRED{token}' })
    expect(await confirm(id)).toMatchObject({
      state: 'done',
      detail: 'The tool was called once and answered: the page is gone',
    })
    await expect(confirm(id)).rejects.toMatchObject({ code: 'approval-used' })
    const sent = server.requests.map(({ method, body, headers }) => [
      method,
      body === '' ? '' : (JSON.parse(body) as { method: string }).method,
      headers['mcp-session-id'],
      headers['mcp-protocol-version'],
    ])
    expect(sent).toEqual([
      ['POST', 'initialize', undefined, undefined],
      ['POST', 'notifications/initialized', 'session-1', '2025-03-26'],
      ['POST', 'tools/call', 'session-1', '2025-03-26'],
      ['DELETE', '', 'session-1', '2025-03-26'],
    ])
    expect(JSON.parse(server.requests[2]?.body ?? '')).toMatchObject({
      params: { name: 'delete_page', arguments: { key: canary } },
    })
  })

  test('shows the numbers of its result as the server wrote them', async () => {
    const server = await aServer((_request, response) => {
      const structured = '{"id":9007199254740993,"part":1.0}'
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(`{"jsonrpc":"2.0","id":2,"result":{"content":[],"structuredContent":${structured}}}`)
    })
    const { call, confirm } = aDesk(server)
    expect(await confirm(await call('read_page'))).toMatchObject({
      detail: 'The tool was called once and answered: {"id":9007199254740993,"part":1.0}',
    })
  })

  test('works with a server of the official library', async () => {
    const { call, confirm } = aDesk(await startMcpWebServer())
    expect(await confirm(await call('echo', { text: 'hello' }))).toMatchObject({
      detail: 'The tool was called once and answered: you said hello',
    })
  })

  test('joins an equal call that waits, whatever token for progress it has', async () => {
    const { call } = aDesk(await aServer(said('done')))
    const first = await call('write', { a: 1 }, { _meta: { progressToken: 1 } })
    expect(await call('write', { a: 1 }, { _meta: { progressToken: 2 } })).toBe(first)
    expect(await call('write', { a: 2 })).not.toBe(first)
    expect(await call('other', { a: 1 })).not.toBe(first)
  })

  test('is not made after the owner changed the address of the server', async () => {
    const server = await aServer(said('done'))
    const { call, confirm, current, place } = aDesk(server)
    const id = await call('write')
    current.servers = mcpServersSchema.parse({ web: { url: `${place}/other` } })
    expect(await confirm(id)).toMatchObject({ state: 'failed', detail: expect.stringContaining('changed') })
    expect(server.requests).toEqual([])
  })

  test('in a message with other calls, or longer than a person can be shown, is denied', async () => {
    const server = await aServer(said('done'))
    const { send, call } = aDesk(server)
    const one = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write"}}'
    await expect(send(`[${one},${one}]`)).rejects.toMatchObject({ code: 'policy-denied' })
    await expect(send(`[${one}]`)).rejects.toMatchObject({ code: 'policy-denied' })
    await expect(
      send('{"method":"tools/call","params":{"name":"write","arguments":{"a":12345678901234567890}}}'),
    ).rejects.toMatchObject({ code: 'policy-denied' })
    await expect(call('write', { text: 'x'.repeat(5000) })).rejects.toMatchObject({ code: 'policy-denied' })
    expect(server.requests).toEqual([])
  })

  test.each([
    ['an error of the tool', json({ result: { isError: true, content: [{ type: 'text', text: 'no' }] } })],
    ['structured content', json({ result: { structuredContent: { a: 1 } } })],
    [
      'an event stream',
      (_request: IncomingMessage, response: ServerResponse) =>
        void response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(
            'data: {"jsonrpc":"2.0","method":"notifications/progress"}\n\nevent: message\ndata: {"jsonrpc":"2.0","id":2,\ndata: "result":{"content":[{"type":"text","text":"streamed"}]}}\n\n',
          ),
    ],
  ])('returns %s', async (_what, answer) => {
    const { call, confirm } = aDesk(await aServer(answer))
    const { state, detail } = await confirm(await call('write'))
    expect(state).toBe('done')
    expect(detail).toMatch(/reported an error: no$|answered: \{"a":1\}$|answered: streamed$/)
  })

  test.each([
    ['a protocol error', json({ error: { code: -1, message: 'no such tool' } }), 'no such tool'],
    ['an answer to another request', json({ id: 9, result: {} }), 'status 200'],
    [
      'no answer',
      (_: IncomingMessage, response: ServerResponse) => void response.destroy(),
      'may have taken',
    ],
    [
      'an answer without end',
      (_: IncomingMessage, response: ServerResponse) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end('x'.repeat(3 * 1024 * 1024)),
      'status 200',
    ],
  ])('that meets %s fails with an unknown outcome and is not repeated', async (_what, answer, words) => {
    const server = await aServer(answer)
    const { call, confirm } = aDesk(server)
    const failed = await confirm(await call('write'))
    expect(failed).toMatchObject({ state: 'failed', detail: expect.stringContaining(words) })
    expect(server.requests.filter(({ body }) => body.includes('tools/call'))).toHaveLength(1)
  })

  test.each([
    ['breaks off', true, (response: ServerResponse) => void response.destroy()],
    [
      'answers in part',
      true,
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-length': '100' }).write('x')
        setImmediate(() => response.destroy())
      },
    ],
    ['refuses', false, (response: ServerResponse) => void response.writeHead(405).end()],
  ])('is done although the server %s when its session is ended', async (_what, isLogged, end) => {
    const server = await aServer(said('the page is gone'), end)
    const { call, confirm, logged } = aDesk(server)
    expect(await confirm(await call('delete_page'))).toMatchObject({
      state: 'done',
      detail: 'The tool was called once and answered: the page is gone',
    })
    expect(server.requests.at(-1)?.method).toBe('DELETE')
    expect(logged).toEqual(isLogged ? [expect.stringContaining('failed to end the session')] : [])
  })

  test('whose session cannot be opened fails, and nothing may have taken effect', async () => {
    const server = await startWebServer((_request, response) => void response.destroy())
    const { call, confirm } = aDesk(server)
    expect(await confirm(await call('write'))).toMatchObject({
      state: 'failed',
      detail: expect.not.stringContaining('may have taken'),
    })
    expect(server.requests).toHaveLength(1)
  })

  test('of a server that cannot be reached fails before anything was called', async () => {
    const server = await aServer(said('done'))
    const { call, confirm } = aDesk(server)
    const id = await call('write')
    await running.splice(0)[0]?.close()
    expect(await confirm(id)).toMatchObject({
      state: 'failed',
      detail: expect.not.stringContaining('may have taken'),
    })
  })
})
