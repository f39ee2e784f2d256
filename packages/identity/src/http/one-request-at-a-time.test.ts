import { once } from 'node:events'
import { Agent, get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { agentConnectionBounds, connectionBounds } from './bound-connections.ts'
import { createServer } from './server.ts'

/** An API that counts the requests that reach its framework, and its connections. */
async function aServer(bounds = connectionBounds) {
  const server = createServer(silentLog, bounds)
  const seen = { requests: 0, sockets: new Set<unknown>() }
  server.addHook('onRequest', async ({ raw }) => {
    seen.requests += 1
    seen.sockets.add(raw.socket)
  })
  server.get('/small', async () => ({ much: 'x' }))
  server.get('/big', async () => ({ much: 'x'.repeat(300_000) }))
  await server.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => server.close())
  const { port } = server.server.address() as AddressInfo
  return { port, seen, server: server.server }
}

/** Sends everything in one write, and waits until the server closes the connection. */
async function sendAtOnce(port: number, sent: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let got = ''
  socket.on('data', (bytes) => (got += String(bytes))).on('error', () => undefined)
  socket.write(sent)
  await new Promise((resolve) => socket.once('close', resolve))
  return got
}

test.each([
  ['for no path', 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['for a path', 'GET /small HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['without a host', 'GET /x HTTP/1.1\r\n\r\n'],
  ['that expect something', 'GET /x HTTP/1.1\r\nHost: a\r\nExpect: much\r\n\r\n'],
  ['with bodies', 'POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}'],
])('2000 requests %s in one write are one request and a hang-up', async (_what, one) => {
  const { port, seen, server } = await aServer()
  let parsed = 0
  server.on('connection', (socket) => {
    const { parser } = socket as unknown as { parser: { onIncoming: (...given: unknown[]) => number } }
    const heard = parser.onIncoming
    parser.onIncoming = (...given) => {
      parsed += 1
      return heard(...given)
    }
  })
  await sendAtOnce(port, one.repeat(2000))
  expect(seen.requests).toBeLessThanOrEqual(1)
  expect(parsed).toBeLessThanOrEqual(2)
})

test('requests one after the other share a connection, also after long answers', async () => {
  const { port, seen } = await aServer()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  for (let at = 0; at < 10; at++) {
    const [reply] = (await once(get({ port, host: '127.0.0.1', path: '/big', agent }), 'response')) as [
      IncomingMessage,
    ]
    expect(await text(reply)).toHaveLength(300_011)
  }
  const fetched = await Promise.all(
    Array.from({ length: 20 }, async () => (await fetch(`http://127.0.0.1:${port}/big`)).text()),
  )
  expect(fetched.every((body) => body.length === 300_011)).toBe(true)
  expect(seen.requests).toBe(30)
  expect(seen.sockets.size).toBeLessThanOrEqual(21)
})

test('a path that is not there is answered, and the connection ends', async () => {
  const { port } = await aServer()
  const got = await sendAtOnce(port, 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n')
  expect(got).toContain('HTTP/1.1 404')
  expect(got.toLowerCase()).toContain('connection: close')
})

test('one container holds so many connections to its API, and they are few of all', async () => {
  const { perAddressMax, totalMax } = agentConnectionBounds
  expect(perAddressMax).toBeLessThanOrEqual(totalMax / 64)
  const { port, server } = await aServer(agentConnectionBounds)
  const sockets = Array.from({ length: perAddressMax + 20 }, () => connect(port, '127.0.0.1'))
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()))
  let refused = 0
  await new Promise<void>((resolve) => {
    for (const socket of sockets) {
      socket.resume().on('error', () => undefined)
      socket.once('close', () => {
        refused += 1
        if (refused === 20) resolve()
      })
    }
  })
  const open = await new Promise<number>((resolve) =>
    server.getConnections((_error, count) => resolve(count)),
  )
  expect(open).toBe(perAddressMax)
})
