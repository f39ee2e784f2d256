import { connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { heedsLesson, verifies } from '../../../tests/verifies.ts'
import {
  answerHeaders,
  createDownloadRoom,
  createHumanGate,
  createServer,
  openPeople,
  signSession,
} from '../../identity/src/http/index.ts'
import { silentLog } from '../../foundation/src/platform/log.ts'
import { systemClock } from '../../foundation/src/platform/system-clock.ts'
import { aBrowserHarness } from '../../testing/src/browser-harness.ts'
import { person } from '../../testing/src/ledger-harness.ts'

const secret = 'a-secret-of-the-hosted-server'
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** The people's API as reachable from other machines, with a required session cookie; `ada` has an open browser. */
async function hosted() {
  const harness = await aBrowserHarness()
  harness.ledger.start()
  await harness.clock.settle()
  harness.chat('ada', 'look')
  await harness.clock.settle()
  await harness.act('ada', 'navigate', { url: 'https://shop.example/' })
  const server = createServer(silentLog, undefined, answerHeaders)
  const people = {
    broken: () => null,
    byToken: () => null,
    byUser: () => null,
    ownerBy: () => null,
    onChange: () => () => {},
    isProven: () => false,
  }
  const gate = createHumanGate({
    clock: systemClock,
    accessToken: () => secret,
    home: { id: 'home', folder: '/home' },
    direct: null,
    people,
  })
  openPeople(server, [harness.module], {
    gate,
    guard: harness.guard,
    people,
    keepAliveMs: 60_000,
    downloads: createDownloadRoom(),
    clock: systemClock,
  })
  await server.listen({ port: 0, host: '127.0.0.1' })
  const address = server.server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  closing.push(
    () => harness.end(),
    () => server.close(),
  )
  const cookie = `ol_session=${signSession(secret, { nowMs: systemClock.now(), seconds: 3600 })}`
  const get = (path: string, headers: Record<string, string> = { cookie }, method = 'GET') =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { 'x-requested-with': 'test', ...headers },
    })
  /** Requests an upgrade; returns the status line, the sub-protocol and the extensions. */
  const upgrade = (path: string, headers: Record<string, string> = {}) =>
    new Promise<string>((resolve) => {
      const all = {
        host: `127.0.0.1:${port}`,
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': Buffer.alloc(16, 1).toString('base64'),
        'sec-websocket-protocol': 'binary',
        'sec-websocket-extensions': 'permessage-deflate',
        cookie,
        ...headers,
      }
      const line = connect(port, '127.0.0.1')
      const lines = Object.entries(all).flatMap(([name, value]) =>
        value === '' ? [] : [`${name}: ${value}`],
      )
      line.write(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
      let text = ''
      line.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1')
        const end = text.indexOf('\r\n\r\n')
        if (end < 0) return
        line.destroy()
        resolve(text.slice(0, end))
      })
      line.on('error', () => resolve(text))
    })
  return { harness, port, cookie, get, upgrade }
}

const socketPath = '/agent-vnc/ada/websockify'

test('viewers get the page and noVNC’s files, and no other file', async () => {
  verifies('endpoints:vnc:route')
  heedsLesson(24)
  const { get } = await hosted()
  const page = await get('/agent-vnc/ada/')
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")
  const rfb = await get('/agent-vnc/ada/novnc/core/rfb.js')
  expect([rfb.status, rfb.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
  for (const path of [
    'novnc/package.json',
    'novnc/../../../package.json',
    'novnc/..%2f..%2f..%2fpackage.json',
    'novnc/core',
    'nothing',
  ]) {
    expect([path, (await get(`/agent-vnc/ada/${path}`)).status]).toEqual([path, 404])
  }
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    expect([method, (await get('/agent-vnc/ada/x', undefined, method)).status]).toEqual([method, 404])
  }
  expect((await get('/agent-vnc/nobody/')).status).toBe(404)
})

test('neither page nor socket of a screen is available without the session', async () => {
  verifies('endpoints:vnc:needs-cookie')
  verifies('authentication:vnc:http-cookie')
  verifies('authentication:vnc:websocket-cookie')
  const { get, upgrade } = await hosted()
  for (const cookie of ['', 'ol_session=1.forged']) {
    expect((await get('/agent-vnc/ada/', { cookie })).status).toBe(401)
    expect((await get('/agent-vnc/ada/novnc/core/rfb.js', { cookie })).status).toBe(401)
    expect(await upgrade(socketPath, { cookie })).toMatch(/^HTTP\/1\.1 401 /)
  }
})

test('a token of an agent is refused in the header, in the address and as a sub-protocol, with the session too', async () => {
  verifies('endpoints:vnc:rejects-bearer')
  verifies('authentication:vnc:rejects-bearer')
  const { get, upgrade, harness } = await hosted()
  expect((await get('/agent-vnc/ada/', { authorization: 'Bearer a-token' })).status).toBe(401)
  expect(await upgrade(socketPath, { authorization: 'Bearer a-token' })).toMatch(/^HTTP\/1\.1 401 /)
  expect(await upgrade(`${socketPath}?token=a-token`)).toMatch(/^HTTP\/1\.1 401 /)
  expect(await upgrade(socketPath, { 'sec-websocket-protocol': 'binary, a-token' })).toMatch(
    /^HTTP\/1\.1 401 /,
  )
  expect(await upgrade(socketPath, { 'sec-websocket-protocol': 'a-token' })).toMatch(/^HTTP\/1\.1 401 /)
  expect(harness.containers.running.get('ada')?.screens).toEqual([])
})

test('the socket agrees on binary without compression, and passes bytes both ways', async () => {
  verifies('endpoints:vnc:websocket')
  heedsLesson(120)
  const { port, cookie, upgrade, harness } = await hosted()
  const head = await upgrade(socketPath)
  expect(head).toMatch(/^HTTP\/1\.1 101 /)
  expect(head.toLowerCase()).toContain('sec-websocket-protocol: binary')
  expect(head.toLowerCase()).not.toContain('extensions')
  const socket = new WebSocket(`ws://127.0.0.1:${port}${socketPath}`, ['binary'], { headers: { cookie } })
  const said = await new Promise<Buffer>((resolve) => socket.once('message', (data: Buffer) => resolve(data)))
  expect(said.toString()).toBe('RFB 003.008\n')
  socket.send(Buffer.from('RFB 003.008\n'))
  const browser = harness.containers.running.get('ada')
  await expect.poll(() => browser?.typedOnScreen).toEqual(['RFB 003.008\n'])
  expect(browser?.screens).toEqual(['control', 'control'])
  await expect.poll(async () => await harness.browsers(person)).toMatchObject({ browsers: [{ watchers: 1 }] })
  socket.terminate()
  await expect.poll(async () => await harness.browsers(person)).toMatchObject({ browsers: [{ watchers: 0 }] })
})

test('one that is watched stays open, only that one, and closing it ends its screens', async () => {
  heedsLesson(119)
  const { port, cookie, harness } = await hosted()
  harness.chat('bob', 'look')
  await harness.clock.settle()
  await harness.act('bob', 'navigate', { url: 'https://shop.example/' })
  const socket = new WebSocket(`ws://127.0.0.1:${port}${socketPath}`, ['binary'], { headers: { cookie } })
  await new Promise((resolve) => socket.once('message', resolve))
  const stop = new AbortController()
  const looking = harness.module.run?.(stop.signal)
  await harness.clock.advance(6 * 60_000)
  await expect.poll(() => [...harness.containers.running.keys()]).toEqual(['ada'])
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await harness.person('close', 'ada', person)
  await closed
  stop.abort()
  await harness.clock.settle()
  await looking
})

test('the number of watchers is limited, even if many connect at once', async () => {
  const { port, cookie } = await hosted()
  const come = () =>
    new Promise<string>((resolve) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}${socketPath}`, ['binary'], { headers: { cookie } })
      closing.push(async () => socket.terminate())
      socket.once('open', () => resolve('open'))
      socket.once('unexpected-response', (_request, reply) => resolve(String(reply.statusCode)))
      socket.on('error', () => {})
    })
  const ends = await Promise.all(Array.from({ length: 11 }, come))
  expect(ends.toSorted()).toEqual(['429', '429', '429', ...Array.from({ length: 8 }, () => 'open')])
})
