import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { Problem } from '@flotilla/protocol/problem'
import { afterEach, describe, expect, it } from 'vitest'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { connectionBounds } from './bound-connections.ts'
import { openEventSocket } from './event-socket.ts'
import { createServer } from './server.ts'

const handshake = 'Upgrade: websocket\r\nConnection: Upgrade\r\n'
const key = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
const end = 'Host: localhost\r\n\r\n'

/** What a peer may send before it keeps its connection open; the server answers, closes or waits. */
const odd: Readonly<Record<string, string>> = {
  'nothing at all': '',
  'half a line': 'GET /ws/ev',
  'half a request for a socket': `GET /open HTTP/1.1\r\n${handshake}${key}`,
  'a path that is not there': `GET /elsewhere HTTP/1.1\r\n${handshake}${key}${end}`,
  'a path that is no socket': `GET /plain HTTP/1.1\r\n${handshake}${key}${end}`,
  'an answer that goes on': `GET /endless HTTP/1.1\r\n${handshake}${key}${end}`,
  'an answer that never comes': `GET /never HTTP/1.1\r\n${handshake}${key}${end}`,
  'a caller that is refused': `GET /refused HTTP/1.1\r\n${handshake}${key}${end}`,
  'no key': `GET /open HTTP/1.1\r\n${handshake}Sec-WebSocket-Version: 13\r\n${end}`,
  'a broken key': `GET /open HTTP/1.1\r\n${handshake}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n${end}`,
  'another version': `GET /open HTTP/1.1\r\n${handshake}Sec-WebSocket-Version: 99\r\n${end}`,
  'another method': `POST /open HTTP/1.1\r\n${handshake}${key}${end}`,
  'a body that does not come': `POST /open HTTP/1.1\r\n${handshake}${key}Content-Length: 9\r\n${end}`,
  'another protocol': `GET /open HTTP/1.1\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n${end}`,
  'no host': `GET /open HTTP/1.1\r\n${handshake}${key}\r\n`,
  'a socket that is opened': `GET /open HTTP/1.1\r\n${handshake}${key}${end}`,
}

const servers: FastifyInstance[] = []
const lines: Socket[] = []
afterEach(async () => {
  for (const line of lines.splice(0)) line.destroy()
  for (const server of servers.splice(0)) await server.close()
})

async function aServer() {
  const server = createServer(silentLog, connectionBounds)
  servers.push(server)
  server.get('/open', async (request, reply) => {
    const caller = { kind: 'human', channel: 'api', role: 'owner' } as const
    await openEventSocket(request, reply, { caller, keepAliveMs: 15_000, alive: () => ({}) })
    return reply
  })
  server.get('/plain', async () => ({}))
  server.get('/never', () => new Promise(() => undefined))
  server.get('/endless', (_request, reply) => {
    reply.hijack()
    reply.raw.write('data: more comes\n\n')
  })
  server.get('/refused', async () => {
    throw new Problem('unauthenticated')
  })
  await server.listen({ port: 0, host: '127.0.0.1' })
  const address = server.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { server, port }
}

/** A peer that sends its text and then neither reads nor disconnects. */
async function keepOpen(port: number, text: string) {
  const line = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  lines.push(line)
  let received = ''
  line.on('data', (bytes) => (received += bytes.toString()))
  line.on('error', () => undefined)
  await once(line, 'connect')
  line.write(text)
  return { line, heard: () => received }
}

describe('a server that closes', () => {
  it.each(Object.entries(odd))(
    'a server that closes does not wait for a peer that sent %s',
    async (_name, text) => {
      const { server, port } = await aServer()
      const { line } = await keepOpen(port, text)
      const closed = once(line, 'close')
      await expect.poll(() => connections(server)).toBeGreaterThan(0)
      // A complete request on another connection shows that the mesh has read the earlier input.
      const plain = await fetch(`http://127.0.0.1:${port}/plain`)
      expect(plain.status).toBe(200)
      await server.close()
      line.end()
      await closed
    },
  )

  it('a server that closes does not wait for many of them at once', async () => {
    const { server, port } = await aServer()
    const texts = Array.from({ length: 8 }, () => Object.values(odd)).flat()
    await Promise.all(texts.map((text) => keepOpen(port, text)))
    await server.close()
    expect(await connections(server)).toBe(0)
  })
})

describe('a request for a socket that is refused', () => {
  it.each([
    ['a path that is not there', '404'],
    ['a caller that is refused', '401'],
    ['no key', '400'],
  ])(
    'a request for a socket that is refused for %s gets a reason and is closed even if its peer keeps the connection open',
    async (name, status) => {
      const { server, port } = await aServer()
      const { heard } = await keepOpen(port, odd[name] ?? '')
      await expect.poll(heard).toContain(`HTTP/1.1 ${status}`)
      await expect.poll(() => connections(server)).toBe(0)
    },
  )
})

function connections(server: FastifyInstance): Promise<number> {
  return new Promise((resolve, reject) =>
    server.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )
}
