import { createServer, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { headers as wireHeaders } from '@flotilla/protocol/headers'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { aServerConnection } from '../testing/a-server-connection.ts'
import { parseAsWritten } from '@flotilla/protocol/json-as-written'
import { formatResult } from './format-result.ts'

const initialized = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'far', version: '1' },
}
const plainTools = '[{"name":"look","inputSchema":{"type":"object"}}]'

/** A server on the network that answers a call with this result, and the mesh that passes its bytes. */
async function aRemote(result: string, form: 'json' | 'events', tools = plainTools) {
  const calls: string[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (bytes: Buffer) => (body += bytes.toString()))
    request.on('end', () => {
      const { id, method } = JSON.parse(body || '{}') as { id?: unknown; method?: string }
      if (id === undefined) return void response.writeHead(202).end()
      if (method === 'tools/call') calls.push(body)
      const known: Readonly<Record<string, string>> = {
        initialize: JSON.stringify(initialized),
        'tools/list': `{"tools":${tools}}`,
        'tools/call': result,
      }
      const said = known[method ?? '']
      const message =
        said === undefined
          ? `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32601,"message":"no such method"}}`
          : `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${said}}`
      response.writeHead(200, { 'content-type': form === 'json' ? 'application/json' : 'text/event-stream' })
      response.end(form === 'json' ? message : `event: message\ndata: ${message}\n\n`)
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const mesh: RunMesh = {
    call: () => Promise.reject(new Error('not part of this test')),
    open: ({ body }) =>
      new Promise((resolve, reject) => {
        const exchange = body as { method: string; headers: Record<string, string>; body: string }
        const asked = sendRequest(url, { method: exchange.method, headers: exchange.headers }, (reply) => {
          const farEnd = { status: reply.statusCode, headers: reply.headers }
          reply.headers[wireHeaders.farEnd] = Buffer.from(JSON.stringify(farEnd)).toString('base64url')
          resolve(reply)
        })
        asked.on('error', reject)
        asked.end(exchange.body)
      }),
  }
  const connection = aServerConnection({ name: 'far', url, mesh: () => mesh })
  const call = (input: unknown) => connection.call('look', input as never, new AbortController().signal)
  return { call, calls, connection }
}

describe.each(['json', 'events'] as const)('the result of a server on the network, as %s', (form) => {
  test.each([
    [
      'large numbers',
      '{"content":[],"structuredContent":{"id":9007199254740993,"n":[1.0]}}',
      '{"id":9007199254740993,"n":[1.0]}',
    ],
    ['a structured list', '{"content":[],"structuredContent":[9007199254740993]}', '[9007199254740993]'],
    ['a structured null', '{"content":[{"type":"text","text":"a"}],"structuredContent":null}', 'a'],
    ['one text as its content', '{"content":"found"}', 'found'],
    ['one block as its content', '{"content":{"type":"text","text":"found"}}', 'found'],
    ['a block of a new type', '{"content":[{"type":"hologram"},{"type":"text","text":"a"}]}', '[hologram]a'],
    ['no meta data', '{"content":[{"type":"text","text":"a"}],"_meta":null}', 'a'],
  ])('the result of a server on the network has %s', async (_what, result, expected) => {
    const { call, calls } = await aRemote(result, form)
    expect(
      formatResult(await call(parseAsWritten('{"id":9007199254740993,"part":1.0}'))).replaceAll(/\s/g, ''),
    ).toBe(expected)
    expect(calls).toEqual([expect.stringContaining('"arguments":{"id":9007199254740993,"part":1.0}')])
  })

  test('the result of a server on the network is an error if it says so in words', async () => {
    const { call } = await aRemote('{"content":[{"type":"text","text":"no"}],"isError":"true"}', form)
    expect((await call({})).isError).toBe(true)
  })
})

describe.each(['json', 'events'] as const)('the schema of a tool on the network, as %s', (form) => {
  const schema =
    '{"type":"object","properties":{"n":{"enum":[9007199254740993,1.0],"maximum":1e400,"default":0.10000000000000000001},"c":{"const":-12345678901234567890}},"required":["n"]}'

  test('the schema of a tool on the network has its numbers as its server wrote them', async () => {
    const { connection } = await aRemote('{"content":[]}', form, `[{"name":"look","inputSchema":${schema}}]`)
    await connection.ensure()
    expect(connection.tools().map((tool) => JSON.stringify(tool.parameters))).toEqual([schema])
  })

  test('the schema of a tool on the network is read where its type is not that of an object', async () => {
    const { connection } = await aRemote(
      '{"content":[]}',
      form,
      '[{"name":"look","inputSchema":{"properties":{"n":{"type":"int"}}}}]',
    )
    await connection.ensure()
    expect(connection.tools().map((tool) => tool.parameters)).toEqual([
      { type: 'object', properties: { n: { type: 'integer' } } },
    ])
  })
})
