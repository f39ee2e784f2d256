import { loopbackFetch } from '../../../../testing/src/loopback-fetch.ts'
import type { CheckEffect } from '../../../../identity/src/policy/index.ts'
import { policyOf } from '../../../../testing/src/policy-of.ts'
import { allowedEffects } from '../../../../testing/src/allowed-effects.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { mcpAgentApi } from '@flotilla/protocol/mcp-api'
import { Problem } from '@flotilla/protocol/problem'
import { mcpServersSchema } from '@flotilla/protocol/mcp-servers'
import { afterEach, describe, expect, test } from 'vitest'
import { collectJournal } from '../../../../../tests/support/collected-ports.ts'
import { aCredentialRoom } from '../../../../../tests/support/credential-room.ts'
import { eventually } from '../../../../../tests/support/eventually.ts'
import { startWebServer } from '../../../../../tests/support/web-server.ts'
import type { WebServer } from '../../../../../tests/support/web-server.ts'
import type { Caller } from '../../../../identity/src/access/caller.ts'
import type { RunTicket } from '../../../../identity/src/access/run-ticket.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { createExchangeWithServer, exchangeBounds } from './exchange-with-server.ts'
import { ownLoop } from '../../../../testing/src/own-loop.ts'
import { agentShareLimits } from '@flotilla/foundation/intake'

const canary = 'canary-of-the-wiki-77'
const run = { runId: 'run_1', agentId: 'scout', fence: 1 } as unknown as RunTicket // The code under test reads only these two fields.
const caller: Caller = { kind: 'agent', agentId: 'scout', token: 'door', run }
const running: WebServer[] = []

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()))
})

async function aServer(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  hosts: string[] = [],
  checkEffect: CheckEffect = allowedEffects,
) {
  const web = await startWebServer(answer)
  running.push(web)
  const place = `http://site.test:${web.port}`
  const bound = [...hosts, ...(hosts.length === 0 ? [place] : [])]
  const { open } = aCredentialRoom({ values: { token: canary }, hosts: { token: bound } })
  const journal = collectJournal()
  const leases: string[] = []
  const live = { run: run as RunTicket | null }
  const exchange = createExchangeWithServer({
    checkEffect,
    loop: ownLoop(),
    held: { take: () => {}, giveBack: () => {} },
    guard: () => {},
    serversOf: () =>
      mcpServersSchema.parse({
        wiki: { url: `${place}/mcp/$CRED{token}`, headers: { 'x-key': 'k $CRED{token}', 'x-own': 'owner' } },
        files: { command: 'node' },
        off: { url: place, disabled: true },
      }),
    fetchFor: () => loopbackFetch(web.port),
    journal,
    clock: systemClock,
    holdLease: () => {
      leases.push('held')
      return () => void leases.push('released')
    },
    credentials: open,
    isOver: (_agentId, of) => live.run?.runId !== of?.runId || live.run?.fence !== of?.fence,
    ask: (_caller, { call }) => {
      throw new Problem('approval-required', { detail: JSON.stringify(call) })
    },
  })
  const ask = (input: object, signal = new AbortController().signal) =>
    exchange(
      caller,
      mcpAgentApi.mcpExchange.request.parse({ server: 'wiki', url: null, method: 'POST', ...input }),
      signal,
    )
  const refused = async (input: object) =>
    ask(input).then(
      () => expect.fail('it was sent'),
      (error: unknown) => error as { code: string },
    )
  return { web, place, ask, refused, journal, leases, live }
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of body) text += decoder.decode(bytes, { stream: true })
  return text
}

describe('an exchange with an MCP server', () => {
  test("an exchange uses the owner's address and headers, and the answer does not contain their secrets", async () => {
    const { ask, web, journal, leases } = await aServer((request, response) => {
      response.writeHead(200, {
        'content-type': 'application/json',
        'mcp-session-id': 's1',
        'x-other': canary,
      })
      response.end(JSON.stringify({ url: request.url, headers: request.headers }))
    })
    const reply = await ask({ headers: { 'x-own': 'agent', accept: 'application/json' }, body: '{}' })
    expect(reply.headers).toEqual({ 'content-type': 'application/json', 'mcp-session-id': 's1' })
    const text = await textOf(reply.body)
    expect(text).not.toContain(canary)
    expect(text).toContain('[secret]')
    expect(web.requests[0]).toMatchObject({
      url: `/mcp/${canary}`,
      headers: { 'x-key': `k ${canary}`, 'x-own': 'owner' },
      body: '{}',
    })
    expect(leases).toEqual(['held', 'released'])
    expect(journal.entries.at(-1)).toMatchObject({
      action: 'mcp.exchanged',
      detail: { server: 'wiki', method: 'POST', status: 200 },
    })
  })

  test('an exchange is refused for another origin, a program, a disabled and a missing server', async () => {
    const { refused, web, place } = await aServer((_request, response) => response.end())
    expect(await refused({ url: 'http://169.254.169.254/' })).toMatchObject({ code: 'address-refused' })
    expect(await refused({ url: `${place}.evil.test/` })).toMatchObject({ code: 'address-refused' })
    for (const server of ['files', 'off', 'none', '__proto__']) {
      expect(await refused({ server })).toMatchObject({ code: 'not-found' })
    }
    expect(web.requests).toEqual([])
  })

  test('an exchange sends no credential to a host that it is not bound to', async () => {
    const { refused, web } = await aServer((_request, response) => response.end(), ['elsewhere.test'])
    expect(await refused({})).toMatchObject({ code: 'credential-refused' })
    expect(web.requests).toEqual([])
  })

  test('an exchange reports a redirect and does not follow it', async () => {
    const { ask, web } = await aServer((_request, response) =>
      response.writeHead(307, { location: 'http://169.254.169.254/' }).end(),
    )
    const reply = await ask({})
    expect(reply).toMatchObject({ status: 307, headers: { location: 'http://169.254.169.254/' } })
    await textOf(reply.body)
    expect(web.requests).toHaveLength(1)
  })

  test('an exchange streams event by event and finds a secret split over two chunks', async () => {
    let send = (_text: string): void => {}
    const { ask } = await aServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      send = (text) => void response.write(text)
      send('data: one\n')
    })
    const reply = await ask({})
    const events = reply.body[Symbol.asyncIterator]()
    const next = async () => Buffer.from((await events.next()).value ?? []).toString()
    send('\ndata: the key is ')
    expect(await next()).toBe('data: one\n\n')
    send(canary.slice(0, 9))
    await new Promise((resolve) => setTimeout(resolve, 30))
    send(`${canary.slice(9)}\r\n\r\ndata: rest`)
    expect(await next()).toBe('data: the key is [secret]\r\n\r\n')
    await events.return?.()
  })

  test('an exchange ends when a part or the whole answer is too large', async () => {
    const { ask, journal } = await aServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${'x'.repeat(exchangeBounds.partMaxBytes + 10)}`)
    })
    await expect(textOf((await ask({})).body)).rejects.toMatchObject({ code: 'upstream-failed' })
    expect(journal.entries.at(-1)).toMatchObject({ detail: { problem: 'upstream-failed' } })
  })

  test('a listening exchange extends no lease and ends with its run', async () => {
    const { ask, leases, live } = await aServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: one\n\n')
    })
    const reply = await ask({ method: 'GET' })
    const read = textOf(reply.body)
    live.run = null
    await expect(read).rejects.toMatchObject({ code: 'stale-fence' })
    expect(leases).toEqual([])
  })

  test('concurrent exchanges of one agent are limited', async () => {
    const { ask, refused, web } = await aServer((_request, response) =>
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders(),
    )
    const over = new AbortController()
    const open = Array.from({ length: agentShareLimits.mcpExchanges.perAgentMax }, () => ask({}, over.signal))
    const replies = await Promise.all(open)
    expect(await refused({})).toMatchObject({ code: 'rate-limited' })
    expect(web.requests).toHaveLength(agentShareLimits.mcpExchanges.perAgentMax)
    over.abort(new Error('enough'))
    await Promise.allSettled(replies.map((reply) => textOf(reply.body)))
    await eventually('there is room again', async () => {
      const one = new AbortController()
      const reply = await ask({}, one.signal)
      one.abort(new Error('enough'))
      await textOf(reply.body).catch(() => undefined)
      return true
    })
  })
})

describe('an exchange that breaks off', () => {
  test('a broken exchange has an unknown outcome, unless it called no tool or was never sent', async () => {
    const { refused } = await aServer((_request, response) => void response.destroy())
    const called = '{"method":"tools/call","params":{"name":"write"}}'
    expect(await refused({ body: called })).toMatchObject({
      code: 'outcome-unknown',
      detail: expect.not.stringContaining(canary),
    })
    for (const unknown of ['{"method":"tools/run"}', '[{"id":1', `[{"method":"ping"},${called}]`])
      expect(await refused({ body: unknown })).toMatchObject({ code: 'outcome-unknown' })
    for (const harmless of [
      { method: 'GET' },
      { method: 'DELETE' },
      { body: '{"id":1,"method":"initialize","params":{}}' },
      { body: '{"id":1,"method":"tools/list"}' },
      { body: '{"method":"notifications/initialized"}' },
    ] as const)
      expect(await refused(harmless)).toMatchObject({ code: 'upstream-failed' })
    const closed = await aServer(() => {})
    await running.at(-1)?.close()
    expect(await closed.refused({ body: called })).toMatchObject({ code: 'upstream-failed' })
  })
})

describe('an exchange under a policy', () => {
  const call = (name: string) =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } })
  const json = (_request: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  const policed = (verdict: string) =>
    aServer(
      json,
      [],
      policyOf(
        `rules:\n  - { name: r, match: { mcp_server: wiki, mcp_tool: delete_* }, verdict: ${verdict} }`,
      ),
    )

  test.each([
    ['deny', 'policy-denied'],
    ['ask', 'approval-required'],
  ])('a tool with the verdict %s is not called, and others are', async (verdict, code) => {
    const { web, ask, refused } = await policed(verdict)
    expect(await refused({ body: call('delete_page') })).toMatchObject({ code })
    expect(await refused({ body: call('Delete_page') })).toMatchObject({ code })
    expect(await refused({ body: '{"method":"tools/call"' })).toMatchObject({ code: 'policy-denied' })
    expect(await refused({ body: `[${call('read')},${call('delete_page')}]` })).toMatchObject({
      code: 'policy-denied',
    })
    expect(web.requests).toEqual([])
    const reply = await ask({ body: call('read') })
    expect(await textOf(reply.body)).toBe('{}')
  })

  test('the server gets the message that was decided about, whatever names its text repeats', async () => {
    const { web, ask } = await policed('deny')
    const twice = '{"method":"tools/call","params":{"name":"delete_page","name":"read"}}'
    await textOf((await ask({ body: twice })).body)
    expect(web.requests[0]?.body).toBe('{"method":"tools/call","params":{"name":"read"}}')
  })

  test('listing the tools of a server asks for none of them', async () => {
    const { ask } = await policed('ask')
    const reply = await ask({ body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' })
    expect(await textOf(reply.body)).toBe('{}')
  })
})
