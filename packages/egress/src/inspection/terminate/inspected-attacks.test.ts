import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'
import { connect } from 'node:tls'
import { afterEach, describe, expect, test } from 'vitest'
import { eventually } from '../../../../../tests/support/eventually.ts'
import { anAuthority, anInspectingProxy, aTlsSite } from '../../../../testing/src/inspection-harness.ts'
import type { InspectionOptions } from '../../../../testing/src/inspection-harness.ts'

const running: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of running.splice(0).toReversed()) await one.close()
})

const host = 'code.test'

/** A site, and a proxy that inspects its host. */
async function aPair(options: InspectionOptions = {}) {
  const outside = await anAuthority('outside')
  const requests: { request: IncomingMessage; body: string }[] = []
  const site = await aTlsSite(outside, host, (request, response) => {
    void textOf(request).then((body) => {
      requests.push({ request, body })
      response.end('an answer')
    })
  })
  const proxy = await anInspectingProxy({ hosts: [host], outside, ports: [site.port], ...options })
  running.push(site, proxy)
  return { site, proxy, requests, target: `${host}:${site.port}` }
}

async function textOf(body: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** A pair whose requests a rule asks for, with the bodies that a person was shown. */
async function anAskedPair() {
  const shown: string[] = []
  const decision = { verdict: 'ask', rule: 'push', line: 2, reason: 'A push.' } as const
  const pair = await aPair({
    takeTurn: () => ({
      fill: () => ({ asked: { decision, credentials: [] } }),
      fillWebSocket: (headers) => headers,
      fillApproved: (headers) => headers,
      answer: { headers: (raw) => raw, body: () => null },
      settled: () => {},
    }),
    ask: async ({ body }) => {
      shown.push(body === null ? '' : await textOf(body))
      return { status: 201, headers: [], body: Buffer.from('approved'), trailers: [] }
    },
  })
  return { ...pair, shown }
}

describe('a request that waits for a sign before it sends its body', () => {
  const head = (target: string, more = '') =>
    `POST /push HTTP/1.1\r\nHost: ${target}\r\nExpect: 100-continue\r\n${more}Content-Length: 6\r\nConnection: close\r\n\r\n`

  test('gets it, and arrives with its body', async () => {
    const { proxy, target, requests } = await aPair()
    const client = await proxy.open(target)
    client.write(head(target))
    const [sign] = (await once(client, 'data')) as [Buffer]
    expect(sign.toString()).toMatch(/^HTTP\/1\.1 100 /)
    client.write('a body')
    const [answer] = (await once(client, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /)
    expect(requests.map(({ body }) => body)).toEqual(['a body'])
  })

  test('is shown to a person with its whole body, to which nothing is added after the approval', async () => {
    const { proxy, target, requests, shown } = await anAskedPair()
    const client = await proxy.open(target)
    let answer = ''
    client.on('data', (chunk: Buffer) => (answer += chunk.toString()))
    client.write(head(target))
    await eventually('the sign arrives', async () => answer.includes('100 Continue'))
    client.write('a bo')
    // The other half is missing, so no person is asked.
    expect(shown).toEqual([])
    client.write('dyGET /more HTTP/1.1\r\n\r\n')
    await once(client, 'close')
    expect(shown).toEqual(['a body'])
    expect(answer).not.toContain('an answer')
    expect(requests).toEqual([])
  })

  test('without its body is not shown to a person', async () => {
    const { proxy, target, requests, shown } = await anAskedPair()
    const client = await proxy.open(target)
    client.write(head(target))
    await once(client, 'data')
    client.destroy()
    await once(client, 'close')
    expect((await proxy.send(target, head(target) + 'second')).split('approved')).toHaveLength(2)
    expect([shown, requests]).toEqual([['second'], []])
  })

  test.each([
    ['200-ok', 417],
    ['', 417],
    ['100-continue, x', 200],
  ])('with the expectation "%s" is answered with %i, and passes no expectation on', async (value, status) => {
    const { proxy, target, requests } = await aPair()
    const text = head(target).replace('100-continue', value)
    expect(await proxy.send(target, `${text}a body`)).toContain(`HTTP/1.1 ${status} `)
    expect(requests.map(({ request, body }) => [request.headers['expect'], body])).toEqual(
      status === 200 ? [[undefined, 'a body']] : [],
    )
  })
})

/** The first bytes of a TLS client, which names `servername` and offers ticket and version as it always does. */
function clientHello(servername: string): Promise<Buffer> {
  return new Promise((resolve) => {
    const socket = new Duplex({
      read: () => {},
      write: (chunk: Buffer, _encoding, done) => {
        resolve(chunk)
        done()
      },
    })
    connect({ socket, servername, ALPNProtocols: ['http/1.1'] }).on('error', () => {})
  })
}

/** Adds an extension to the end of a ClientHello in one record. */
function withExtension(hello: Buffer, type: number, body: Buffer): Buffer {
  const extension = Buffer.alloc(4 + body.length)
  extension.writeUInt16BE(type, 0)
  extension.writeUInt16BE(body.length, 2)
  body.copy(extension, 4)
  const made = Buffer.concat([hello, extension])
  // The random, the session id, the suites and the compressions come before the length of the extensions.
  let at = 5 + 4 + 2 + 32
  at += 1 + made.readUInt8(at)
  at += 2 + made.readUInt16BE(at)
  at += 1 + made.readUInt8(at)
  made.writeUInt16BE(made.readUInt16BE(at) + extension.length, at)
  made.writeUIntBE(made.readUIntBE(6, 3) + extension.length, 6, 3)
  made.writeUInt16BE(made.readUInt16BE(3) + extension.length, 3)
  return made
}

const encryptedClientHello = 0xfe0d
const earlyData = 42
/** An outer ClientHello with an inner one that only its server can read. */
const outer = Buffer.concat([
  Buffer.from('0000010001000020', 'hex'),
  Buffer.alloc(32, 7),
  Buffer.from([0, 96]),
  Buffer.alloc(96, 9),
])
const record = (type: number, body: Buffer) =>
  Buffer.concat([Buffer.from([type, 3, 3, body.length >> 8, body.length & 255]), body])

describe('a name in TLS that only the server could read', () => {
  async function answerTo(target: string, proxy: Awaited<ReturnType<typeof aPair>>['proxy'], bytes: Buffer) {
    const { socket } = await proxy.tunnel(target)
    socket.allowHalfOpen = false
    socket.write(bytes)
    let answer = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      answer = Buffer.concat([answer, chunk])
      // The client cannot complete the handshake.
      socket.destroy()
    })
    await once(socket, 'close')
    return answer
  }

  test('with another name outside is refused', async () => {
    const { proxy, site, target, requests } = await aPair()
    const hello = await clientHello('public.test')
    const answer = await answerTo(target, proxy, withExtension(hello, encryptedClientHello, outer))
    // An alert or nothing.
    expect(answer[0] ?? 21).toBe(21)
    await eventually('it is reported', async () => proxy.failures.length > 0)
    expect(proxy.failures).toEqual([{ host, why: 'wrong-name' }])
    expect([requests, site.connections.length <= 1]).toEqual([[], true])
  })

  test('with the host outside is not passed on: the mesh answers for the host itself', async () => {
    const { proxy, site, target } = await aPair()
    const names: unknown[] = []
    site.server.on('secureConnection', ({ servername }: { servername: unknown }) => names.push(servername))
    const hello = await clientHello(host)
    const answer = await answerTo(target, proxy, withExtension(hello, encryptedClientHello, outer))
    // A ServerHello under a key of the mesh; the server sees the connection that the mesh opened, for the host.
    expect([answer[0], answer[5]]).toEqual([22, 2])
    expect(names).toEqual([host])
  })
})

describe('data before the end of the handshake', () => {
  test('is read by nothing', async () => {
    const { proxy, target, requests } = await aPair()
    const { socket } = await proxy.tunnel(target)
    const hello = withExtension(await clientHello(host), earlyData, Buffer.alloc(0))
    const request = Buffer.from(`DELETE /early HTTP/1.1\r\nHost: ${target}\r\n\r\n`)
    socket.write(Buffer.concat([hello, record(23, request), record(23, request)]))
    await once(socket, 'data')
    socket.write(record(23, request), () => socket.resetAndDestroy())
    await eventually('the handshake has failed', async () => proxy.failures.length > 0)
    expect([requests, proxy.decided]).toEqual([[], []])
  })

  test('cannot be sent with a session of the mesh', async () => {
    const { proxy, target } = await aPair()
    const client = await proxy.open(target)
    client.write(`GET / HTTP/1.1\r\nHost: ${target}\r\n\r\n`)
    const [session] = (await once(client, 'session')) as [Buffer]
    // A session that permits early data names its size under the tag 15 of SSL_SESSION, or 16 in later versions.
    expect(session.length).toBeGreaterThan(100)
    for (const size of ['af060204', 'b0060204'])
      expect(session.includes(Buffer.from(size, 'hex'))).toBe(false)
  })
})
