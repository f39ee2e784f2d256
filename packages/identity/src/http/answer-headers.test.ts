import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { answerHeaders, isBehindTls } from './answer-headers.ts'
import { alreadySent } from './bind-endpoint.ts'
import { connectionBounds } from './bound-connections.ts'
import { keptAliveReply } from './kept-alive-reply.ts'
import { openEventStream } from './server-sent-events.ts'
import { createServer } from './server.ts'

/** A people's API with one route for each kind of response. */
async function aServer(): Promise<number> {
  const server = createServer(silentLog, connectionBounds, answerHeaders)
  server.get('/data', async () => ({ a: 1 }))
  server.get('/fails', async () => {
    throw new Error('inside')
  })
  server.post('/takes', { bodyLimit: 10 }, async () => ({}))
  server.get('/stream', async (_request, reply) => {
    openEventStream(reply).end()
    return alreadySent
  })
  server.get('/late', async (_request, reply) => {
    // The handler resolves only after the response has begun.
    const begun = async () => {
      while (!reply.raw.headersSent) await setImmediate()
    }
    return keptAliveReply(reply, 1, begun())
  })
  server.get('/cached', async (_request, reply) => reply.header('cache-control', 'private').send('x'))
  await server.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => server.close())
  return (server.server.address() as AddressInfo).port
}

/** Sends the bytes and returns status and headers of the response, with lower-case names. */
async function answerTo(
  port: number,
  bytes: string,
): Promise<{ status: number; headers: Map<string, string> }> {
  const socket = connect(port, '127.0.0.1')
  let got = ''
  socket.on('error', () => undefined)
  const head = new Promise<void>((resolve) => {
    socket.on('data', (piece) => {
      got += piece.toString()
      if (got.includes('\r\n\r\n')) resolve()
    })
    socket.on('close', () => resolve())
  })
  socket.write(bytes)
  await head
  socket.destroy()
  const [first = '', ...lines] = (got.split('\r\n\r\n')[0] ?? '').split('\r\n')
  const pairs = lines.map((line): [string, string] => {
    const at = line.indexOf(':')
    return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]
  })
  expect(pairs.length, 'no header twice').toBe(new Set(pairs.map(([name]) => name)).size)
  return { status: Number(first.split(' ')[1]), headers: new Map(pairs) }
}

const get = (path: string, ...more: string[]) =>
  ['GET ' + path + ' HTTP/1.1', 'Host: a', ...more, '', ''].join('\r\n')

describe('the people’s API', () => {
  it.each([
    ['data', 200, get('/data')],
    ['to a question for the head alone', 200, get('/data').replace('GET', 'HEAD')],
    ['a failure inside', 500, get('/fails')],
    ['no such path', 404, get('/nowhere')],
    ['another method', 404, get('/data').replace('GET', 'DELETE')],
    ['an invalid path', 400, get('/%zz')],
    ['a stream', 200, get('/stream')],
    ['an answer that was waited for', 200, get('/late')],
    ['an unsupported upgrade', 200, get('/data', 'Connection: Upgrade', 'Upgrade: websocket')],
    ['an unsupported expectation', 417, get('/data', 'Expect: much')],
    [
      'a body of another type',
      400,
      get('/takes', 'Content-Type: a/b', 'Content-Length: 1').replace('GET', 'POST') + 'x',
    ],
    [
      'a body that is no JSON',
      400,
      get('/takes', 'Content-Type: application/json', 'Content-Length: 1').replace('GET', 'POST') + 'x',
    ],
    [
      'a body that is too large',
      413,
      get('/takes', 'Content-Type: application/json', 'Content-Length: 99').replace('GET', 'POST'),
    ],
    [
      'more headers than are taken',
      413,
      get('/data', ...Array.from({ length: 201 }, (_, at) => `a${at}: b`)),
    ],
    ['a request without a host', 400, 'GET /data HTTP/1.1\r\n\r\n'],
    ['headers that are too large', 413, get('/data', `a: ${'b'.repeat(20_000)}`)],
    ['what is no HTTP', 400, 'much\r\n\r\n'],
    ['a version that does not exist', 400, 'GET / HTTP/7.7\r\n\r\n'],
  ])('the people’s API answers %s (%d) with every header', async (_what, status, bytes) => {
    const answer = await answerTo(await aServer(), bytes)
    expect(answer.status).toBe(status)
    expect(Object.fromEntries(answer.headers)).toMatchObject(answerHeaders)
    expect(answer.headers.has('strict-transport-security')).toBe(false)
  })

  it.each(['/data', '/late', '/stream', '/nowhere'])(
    'the people’s API answers a HEAD request for %s like GET, without a body',
    async (path) => {
      const origin = `http://127.0.0.1:${await aServer()}`
      const [whole, head] = [await fetch(origin + path), await fetch(origin + path, { method: 'HEAD' })]
      expect(head.status).toBe(whole.status)
      expect(head.headers.get('content-type')).toBe(whole.headers.get('content-type'))
      expect(head.headers.get('content-length')).toBe(whole.headers.get('content-length'))
      expect(await head.text()).toBe('')
    },
  )

  it('the people’s API lets nothing run, load, frame or be kept', async () => {
    verifies('limits:dashboard-csp')
    const { headers } = await answerTo(await aServer(), get('/data'))
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy.split('; ')).toEqual([
      "default-src 'none'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      'sandbox',
    ])
    expect(policy).not.toMatch(/unsafe|\*|https?:|data:/)
    expect(headers.get('cache-control')).toBe('no-store')
  })

  it('the people’s API lets a route override the caching header and no other header', async () => {
    const { headers } = await answerTo(await aServer(), get('/cached'))
    const { 'cache-control': _kept, ...others } = answerHeaders
    expect(Object.fromEntries(headers)).toMatchObject({ ...others, 'cache-control': 'private' })
  })

  it.each([
    ['X-Forwarded-Proto: https'],
    ['X-Forwarded-Proto: HTTPS, http'],
    ['Forwarded: for=192.0.2.1;proto=https'],
  ])(
    'the people’s API asks for encryption from then on where a proxy says that it has it: %s',
    async (line) => {
      const { headers } = await answerTo(await aServer(), get('/data', line))
      expect(headers.get('strict-transport-security')).toBe('max-age=31536000')
    },
  )
})

describe('a call behind TLS', () => {
  it.each([
    [{}, false],
    [{ 'x-forwarded-proto': 'http' }, false],
    [{ 'x-forwarded-proto': 'http, https' }, false],
    [{ 'x-forwarded-proto': 'httpsx' }, false],
    [{ forwarded: 'for="https"' }, false],
    [{ forwarded: 'for=a;proto=http, for=b;proto=https' }, false],
    [{ forwarded: 'proto="https";for=a' }, true],
  ])('a call behind TLS takes the scheme from the nearest proxy: %j is %s', (headers, expected) => {
    expect(isBehindTls(headers)).toBe(expected)
  })
})
