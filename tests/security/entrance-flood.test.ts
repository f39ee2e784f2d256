import { randomUUID } from 'node:crypto'
import { connect, createServer as createTcpServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { headers } from '@flotilla/protocol/headers'
import { mcpAgentEndpoints } from '@flotilla/protocol/mcp-api'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { knock } from '../support/agent-at-work.ts'
import type { AgentAtWork } from '../support/agent-at-work.ts'
import { cutOff, startFloodedMesh } from '../support/flooded-mesh.ts'
import type { Flood, FloodedMesh } from '../support/flooded-mesh.ts'
import { httpCall } from '../support/http-call.ts'

/** The mesh decides the requests to it; it cannot be reached. */
const inspectedHost = '127.0.0.2'

let flooded: FloodedMesh
let hostile: Server
let port: number

/** One event of a chat completion, a notification of an MCP server, and text of a page, in chunks of one byte. */
const bytesOfAnswer = 400_000

/** Bytes of an HTTP answer whose body has chunks of one byte each, from `text` repeated. */
function inChunksOfOneByte(type: string, text: string, count = bytesOfAnswer): Buffer {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`
  const body = Array.from({ length: count }, (_, at) => {
    const char = text[at % text.length] ?? ''
    return `1\r\n${char}\r\n`
  })
  return Buffer.from(`${head}${body.join('')}0\r\n\r\n`)
}

const notification = (method: string) => `data: {"jsonrpc":"2.0","method":"${method}"}\n\n`
/** Progress, log lines and changed lists, as many as fit in 8 MB. */
const notifications = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n${[
    'tools/list_changed',
    'progress',
    'message',
  ]
    .map((name) => notification(`notifications/${name}`))
    .join('')
    .repeat(40_000)}`,
)
const answers: Readonly<Record<string, Buffer>> = {
  '/notifications': notifications,
  '/page': inChunksOfOneByte('text/plain', 'x'),
  '/events': inChunksOfOneByte('text/event-stream', notification('notifications/progress')),
  '/v1/chat/completions': inChunksOfOneByte(
    'text/event-stream',
    `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"x"}}]}\n\n`,
  ),
}

beforeAll(async () => {
  hostile = createTcpServer((socket) => serve(socket))
  await new Promise<void>((resolve) => hostile.listen(0, '127.0.0.1', resolve))
  port = (hostile.address() as AddressInfo).port
  flooded = await startFloodedMesh({
    settings: {
      egress: {
        allowed_private: [`127.0.0.1:${port}`, `${inspectedHost}:443`],
        inspected_hosts: [inspectedHost],
      },
      agents: Object.fromEntries(
        floods.map((_, index) => [`flooder-${index}`, { models: ['scripted/works', 'hostile/m'] }]),
      ),
      models: { 'hostile/m': { price: { input_per_mtok: 0.01, output_per_mtok: 0.01 } } },
      providers: {
        hostile: { kind: 'openai-compatible', base_url: `http://127.0.0.1:${port}/v1`, local: true },
      },
    },
  })
})
afterAll(async () => {
  await flooded?.close()
  await new Promise((resolve) => hostile?.close(resolve))
})

/** Answers one request by its path; what does not speak HTTP gets what it said. */
function serve(socket: Socket): void {
  socket.on('error', () => {})
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
    const path = /^\w+ (\S+)/.exec(received)?.[1] ?? ''
    const answer = answers[path]
    if (answer === undefined) socket.write(chunk)
    else if (received.includes('\r\n\r\n')) {
      received = ''
      socket.end(answer)
    }
  })
}

const floods: readonly Flood[] = [
  {
    what: 'pages in chunks of one byte',
    call: (by) =>
      knock(by, { ...meshAgentEndpoints.httpRequest, body: { url: `http://127.0.0.1:${port}/page` } }),
  },
  {
    what: 'notifications of an MCP server',
    atOnce: 3,
    call: (by) =>
      knock(by, {
        ...mcpAgentEndpoints.mcpExchange,
        body: { server: 'wiki', url: `http://127.0.0.1:${port}/notifications`, method: 'POST', headers: {} },
      }),
  },
  {
    what: 'notifications of an MCP server in chunks of one byte',
    isCutOff: true,
    call: (by) =>
      knock(by, {
        ...mcpAgentEndpoints.mcpExchange,
        body: { server: 'wiki', url: null, method: 'POST', headers: {} },
      }),
  },
  {
    what: 'calls whose bodies come in chunks of one byte',
    // What one read of a socket returned is parsed whole, so each connection costs 64 KB of chunks once.
    atOnce: 4,
    call: callInChunksOfOneByte,
  },
  {
    what: 'tunnels of the forward proxy',
    call: tunnel,
  },
  {
    what: 'pages in chunks of one byte through the forward proxy',
    isCutOff: true,
    call: (by) =>
      throughProxy(
        by,
        `GET http://127.0.0.1:${port}/page HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: close`,
      ),
  },
  {
    what: 'requests to inspected hosts whose bodies come in chunks of one byte',
    call: toInspectedHost,
  },
  {
    what: 'answers of a provider in chunks of one byte',
    call: (by) =>
      httpCall({
        method: 'POST',
        url: `${by.api}/v1/chat/completions`,
        headers: { authorization: `Bearer ${by.programToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'hostile/m',
          max_tokens: 10,
          stream: true,
          messages: [{ role: 'user', content: 'x' }],
        }),
      }),
  },
]

/** Sends a call whose body has chunks of one byte. */
function callInChunksOfOneByte(by: AgentAtWork): Promise<{ readonly status: number }> {
  const { port: apiPort } = new URL(by.api)
  const body = inChunksOfOneByte('', JSON.stringify({ value: 'x'.repeat(bytesOfAnswer) }), bytesOfAnswer)
  const from = body.indexOf('\r\n\r\n') + 4
  const head = [
    'PUT /mesh/blackboard/x HTTP/1.1',
    'host: mesh',
    `authorization: Bearer ${by.token}`,
    `${headers.runId}: ${by.run.id}`,
    `${headers.runFence}: ${by.run.fence}`,
    `${headers.idempotencyKey}: ${randomUUID()}`,
    'content-type: application/json',
    'transfer-encoding: chunked',
    'connection: close',
  ].join('\r\n')
  return exchanged(Number(apiPort), Buffer.concat([Buffer.from(`${head}\r\n\r\n`), body.subarray(from)]))
}

/** Opens a tunnel of the forward proxy, sends a megabyte through it, and closes it. */
function tunnel(by: AgentAtWork): Promise<{ readonly status: number }> {
  return throughProxy(by, `CONNECT 127.0.0.1:${port} HTTP/1.1`, Buffer.alloc(1_000_000, 'x'))
}

function throughProxy(
  by: AgentAtWork,
  head: string,
  rest = Buffer.alloc(0),
): Promise<{ readonly status: number }> {
  const { port: proxyPort, username, password } = new URL(by.environment['HTTP_PROXY'] ?? '')
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const basic = `proxy-authorization: Basic ${Buffer.from(user).toString('base64')}`
  return exchanged(Number(proxyPort), Buffer.concat([Buffer.from(`${head}\r\n${basic}\r\n\r\n`), rest]))
}

/** Sends a request through the tunnel to an inspected host, in which the mesh serves TLS itself. */
function toInspectedHost(by: AgentAtWork): Promise<{ readonly status: number }> {
  const { port: proxyPort, username, password } = new URL(by.environment['HTTP_PROXY'] ?? '')
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const body = inChunksOfOneByte('', 'x', 100_000)
  const from = body.indexOf('\r\n\r\n') + 4
  return new Promise((resolve) => {
    const socket = connect(Number(proxyPort), '127.0.0.1', () => {
      socket.write(
        `CONNECT ${inspectedHost}:443 HTTP/1.1\r\nproxy-authorization: Basic ${Buffer.from(user).toString('base64')}\r\n\r\n`,
      )
    })
    socket.on('error', () => {})
    socket.once('data', (head) => {
      const status = /^HTTP\/1\.1 (\d+)/.exec(head.toString('latin1'))?.[1]
      if (status !== '200') return resolve({ status: Number(status) })
      // The test does not trust the authority of the fleet, and sends nothing that is secret.
      const inner = connectTls({ socket, rejectUnauthorized: false }, () => {
        inner.write(
          Buffer.concat([
            Buffer.from(
              `POST / HTTP/1.1\r\nhost: ${inspectedHost}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n`,
            ),
            body.subarray(from),
          ]),
        )
      })
      let received = ''
      inner.on('data', (piece: Buffer) => (received = `${received}${piece.toString('latin1')}`.slice(0, 20)))
      inner.on('error', () => {})
      inner.on('close', () => resolve({ status: Number(/^HTTP\/1\.1 (\d+)/.exec(received)?.[1] ?? cutOff) }))
    })
    socket.on('close', () => resolve({ status: cutOff }))
  })
}

/** The status with which a server answers some bytes. */
function exchanged(to: number, bytes: Buffer): Promise<{ readonly status: number }> {
  return new Promise((resolve) => {
    let received = ''
    const socket = connect(to, '127.0.0.1', () => socket.end(bytes))
    socket.on(
      'data',
      (chunk) => (received = received.length > 20 ? received : received + chunk.toString('latin1')),
    )
    socket.on('error', () => {})
    socket.on('close', () => resolve({ status: Number(/^HTTP\/1\.1 (\d+)/.exec(received)?.[1] ?? cutOff) }))
  })
}

describe('a flood of one agent', () => {
  it.each(floods.map((one, index) => [one.what, one, `flooder-${index}`] as const))(
    'a flood of %s leaves the event loop to other agents',
    async (_what, one, id) => {
      const by = await flooded.aFlooder(id, { blackboard_write: ['*'] }, `http://127.0.0.1:${port}/events`)
      expect(await flooded.judge(by, one)).toBeNull()
    },
  )
})
