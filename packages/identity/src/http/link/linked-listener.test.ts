import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect as connectPlainly } from 'node:net'
import { connect } from 'node:tls'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import { text } from 'node:stream/consumers'
import { agentLinkClient } from '@flotilla/protocol/agent-link'
import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../../../foundation/src/platform/index.ts'
import { agentConnectionBounds, boundConnections } from '../bound-connections.ts'
import { createLinkedListener } from './linked-listener.ts'
import { linkedAgentOf } from './linked-sockets.ts'

const host = '127.0.0.1'
const keyed = (identity: string, key: Uint8Array) => agentLinkClient({ identity, key })
const keyOfScout = Buffer.alloc(32, 1)
const keyOfClerk = Buffer.alloc(32, 2)

async function aServer(some = { perAddressMax: 100, totalMax: 400 }) {
  const bounds = { ...agentConnectionBounds, ...some }
  const keys = new Map([
    ['start-1.scout', { agentId: 'scout', key: keyOfScout }],
    ['start-1.clerk', { agentId: 'clerk', key: keyOfClerk }],
  ])
  const server = createServer((asked, reply) => reply.end(`${linkedAgentOf(asked.socket)} ${asked.url}`))
  boundConnections(server, bounds)
  const listener = createLinkedListener({
    server,
    keyOf: (told) => keys.get(told) ?? null,
    bounds,
    log: silentLog,
  })
  await listener.listen({ port: 0, host })
  onTestFinished(() => listener.close())
  return { listener, keys, port: listener.port() }
}

function open(port: number, options: ConnectionOptions): TLSSocket {
  const socket = connect({ host, port, ...options })
  onTestFinished(() => void socket.destroy())
  return socket
}

/** Returns the reply of the API over a connection, or the reason why it failed. */
async function ask(socket: TLSSocket): Promise<string> {
  const asked = request({ path: '/hello', createConnection: () => socket }).end()
  try {
    const [reply] = (await once(asked, 'response')) as [IncomingMessage]
    return await text(reply)
  } catch (error) {
    return `refused: ${String(error)}`
  }
}

test('the linked listener knows an agent by the key of its start, in TLS 1.3 with fresh keys', async () => {
  const { port } = await aServer()
  const socket = open(port, keyed('start-1.scout', keyOfScout))
  expect(await ask(socket)).toBe('scout /hello')
  expect(socket.getProtocol()).toBe('TLSv1.3')
  expect(socket.getEphemeralKeyInfo()).not.toEqual({})
})

test.each([
  ['a start that does not count', keyed('start-0.scout', keyOfScout)],
  ['the key of another agent', keyed('start-1.scout', keyOfClerk)],
  ['no key', { rejectUnauthorized: false }],
  [
    'an older version',
    { ...keyed('start-1.scout', keyOfScout), minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' },
  ],
] as const)('the linked listener refuses a client with %s', async (_what, options) => {
  const { port } = await aServer()
  expect(await ask(open(port, options as ConnectionOptions))).toMatch(/^refused: /)
})

test('the linked listener answers plain HTTP without any data of the API', async () => {
  const { port } = await aServer()
  const socket = connectPlainly(port, host).end('GET /hello HTTP/1.1\r\nhost: mesh\r\n\r\n')
  expect(await text(socket).catch(String)).not.toContain('/hello')
})

test('the linked listener refuses a session ticket once the start is over', async () => {
  const { port, keys } = await aServer()
  const first = open(port, keyed('start-1.scout', keyOfScout))
  const tickets: Buffer[] = []
  first.on('session', (session: Buffer) => tickets.push(session))
  expect(await ask(first)).toBe('scout /hello')
  keys.clear()
  expect(tickets.length).toBeGreaterThan(0)
  for (const session of tickets) {
    const { pskCallback: _none, ...options } = keyed('start-1.scout', keyOfScout)
    expect(await ask(open(port, { ...options, session }))).toMatch(/^refused: /)
  }
})

test('the linked listener counts the connections of an agent by its key, and forgets closed ones', async () => {
  const { port } = await aServer({ perAddressMax: 2, totalMax: 8 })
  const scout = () => open(port, keyed('start-1.scout', keyOfScout))
  for (let round = 0; round < 12; round += 1) {
    const socket = scout()
    expect(await ask(socket)).toBe('scout /hello')
    socket.destroy()
    await once(socket, 'close')
  }
  const held = [scout(), scout()]
  for (const socket of held) await once(socket, 'secureConnect')
  expect(await ask(scout())).toMatch(/^refused: /)
})
