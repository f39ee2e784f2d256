import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { afterEach, expect, test } from 'vitest'
import { eventually } from '../../../../../tests/support/eventually.ts'
import { makeKeyPair, signHost } from '../authority/sign-certificate.ts'
import { fields, flags, frame, frameTypes, readFrames } from '../../../../testing/src/http2-frames.ts'
import { anAuthority, anInspectingProxy, openSession } from '../../../../testing/src/inspection-harness.ts'
import { http2Limits } from './http2-limits.ts'

const running: { close(): unknown }[] = []
afterEach(async () => {
  for (const one of running.splice(0).toReversed()) await one.close()
})

const host = 'code.test'
const ok = (more: readonly (readonly [string, string])[] = []) => fields([[':status', '200'], ...more])

/** A server that writes frames by hand as soon as a request arrived, and a program's session with its host. */
async function aHostileServer(answer: (connection: TLSSocket, stream: number) => unknown) {
  const outside = await anAuthority('outside')
  const key = await makeKeyPair()
  const cert = await signHost(outside, { host, publicKey: key.publicKey, now: Date.now() })
  const server = createServer(
    {
      key: key.privateKey.export({ type: 'pkcs8', format: 'pem' }),
      cert: cert + outside.certificate,
      ALPNProtocols: ['h2'],
    },
    (connection) => {
      connection.on('error', () => {})
      connection.write(frame(frameTypes.settings, 0, 0))
      const reader = readFrames(connection, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'.length)
      void eventually('a request', async () => reader.frames.find(({ type }) => type === frameTypes.headers))
        .then((request) => answer(connection, request.stream))
        .catch(() => {})
    },
  )
  const connections = new Set<TLSSocket>()
  server.on('secureConnection', (socket) => connections.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const proxy = await anInspectingProxy({ hosts: [host], outside, ports: [port] })
  const session = await openSession(proxy, `${host}:${port}`)
  const close = () => {
    for (const socket of connections) socket.destroy()
    server.close()
  }
  running.push({ close }, proxy, session)
  const stream = session.request({ ':path': '/' })
  const seen = { status: 0, body: '', failed: false }
  stream.on('response', (headers) => (seen.status = Number(headers[':status'])))
  stream.on('data', (chunk: Buffer) => (seen.body += chunk.toString()))
  stream.on('error', () => (seen.failed = true))
  await once(stream, 'close').catch(() => {})
  const again = () => proxy.open(`${host}:${port}`, { ALPNProtocols: ['h2'] })
  return { seen, again }
}

/** Writes a piece again and again until the mesh has closed the connection. */
async function repeat(connection: TLSSocket, piece: Buffer): Promise<void> {
  for (let at = 0; at < 20_000 && !connection.destroyed; at++) {
    if (!connection.write(piece)) await Promise.race([once(connection, 'drain'), once(connection, 'close')])
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const many = Buffer.alloc(3000, 'a').toString()

test.each<readonly [string, (connection: TLSSocket, stream: number) => unknown]>([
  [
    'interim answers without end',
    (connection, stream) =>
      connection.write(
        Buffer.concat(
          Array.from({ length: http2Limits.interimAnswersMax + 1 }, () =>
            frame(frameTypes.headers, flags.endHeaders, stream, fields([[':status', '103']])),
          ),
        ),
      ),
  ],
  ['PING frames', (connection) => repeat(connection, frame(frameTypes.ping, 0, 0, Buffer.alloc(8)))],
  ['SETTINGS frames', (connection) => repeat(connection, frame(frameTypes.settings, 0, 0))],
  [
    'too many header fields',
    (connection, stream) => {
      const more = Array.from({ length: http2Limits.headerFieldsMax }, (_, at) => [`x-${at}`, 'a'] as const)
      connection.write(frame(frameTypes.headers, flags.endHeaders, stream, ok(more)))
    },
  ],
  [
    'headers that become large by decompression',
    (connection, stream) => {
      const name = Buffer.from('x-large')
      const added = Buffer.concat([
        Buffer.from([0x40, name.length]),
        name,
        Buffer.from([127, 0xb9, 0x16]),
        Buffer.from(many),
      ])
      const block = Buffer.concat([ok(), added, Buffer.alloc(60, 0x80 | 62)])
      connection.write(frame(frameTypes.headers, flags.endHeaders, stream, block))
    },
  ],
  [
    'a reset',
    (connection, stream) => connection.write(frame(frameTypes.reset, 0, stream, Buffer.from([0, 0, 0, 1]))),
  ],
  ['the end of the connection', (connection) => connection.destroy()],
])('a server that sends %s is reported as failed', async (_what, answer) => {
  const { seen } = await aHostileServer(answer)
  expect(seen.status).toBe(502)
  expect(seen.body).toContain('upstream-failed')
})

test('a stream that a server pushes is not passed on', async () => {
  const { seen } = await aHostileServer((connection, stream) => {
    const promise = Buffer.concat([Buffer.from([0, 0, 0, 2]), fields([[':path', '/pushed']])])
    connection.write(frame(frameTypes.push, flags.endHeaders, stream, promise))
    connection.write(frame(frameTypes.headers, flags.endHeaders, 2, ok()))
    connection.write(frame(frameTypes.data, flags.endStream, 2, Buffer.from('pushed')))
    connection.write(frame(frameTypes.headers, flags.endHeaders, stream, ok()))
    connection.write(frame(frameTypes.data, flags.endStream, stream, Buffer.from('asked for')))
  })
  expect(seen.body).not.toContain('pushed')
})

test('a server that sends its answer in DATA frames of one byte is cut off', async () => {
  const { seen } = await aHostileServer(async (connection, stream) => {
    connection.write(frame(frameTypes.headers, flags.endHeaders, stream, ok()))
    const one = frame(frameTypes.data, 0, stream, Buffer.from('a'))
    await repeat(connection, Buffer.concat(Array.from({ length: 50 }, () => one)))
  })
  expect(seen).toMatchObject({ status: 200, failed: true })
})

test.each([
  [
    'a header twice that may occur once',
    [
      ['etag', 'a'],
      ['etag', 'b'],
    ],
  ],
  ['a pseudo-header', [[':status', '200']]],
  ['an encoding', [['content-encoding', 'gzip']]],
] as const)('trailers with %s do not stop the mesh', async (_what, trailers) => {
  const { seen, again } = await aHostileServer((connection, stream) => {
    connection.write(frame(frameTypes.headers, flags.endHeaders, stream, ok()))
    connection.write(frame(frameTypes.data, 0, stream, Buffer.from('a body')))
    const whole = flags.endHeaders | flags.endStream
    connection.write(frame(frameTypes.headers, whole, stream, fields(trailers)))
  })
  expect(seen.failed || seen.status === 502 || seen.body === 'a body').toBe(true)
  expect((await again()).alpnProtocol).toBe('h2')
})

test('a length that the body does not have does not look complete', async () => {
  const { seen } = await aHostileServer((connection, stream) => {
    connection.write(frame(frameTypes.headers, flags.endHeaders, stream, ok([['content-length', '5']])))
    connection.write(frame(frameTypes.data, flags.endStream, stream, Buffer.from('ab')))
  })
  expect(seen.failed || seen.status === 502).toBe(true)
})
