import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  Http2ServerRequest,
  Http2ServerResponse,
  ServerHttp2Stream,
} from 'node:http2'
import { afterEach, describe, expect, test } from 'vitest'
import { Problem } from '@flotilla/protocol/problem'
import { eventually } from '../../../../../tests/support/eventually.ts'
import {
  anAuthority,
  anInspectedHttp2Site,
  anInspectingProxy,
  aTlsSite,
  openSession,
} from '../../../../testing/src/inspection-harness.ts'
import type { InspectionOptions } from '../../../../testing/src/inspection-harness.ts'
import type { AskedRequest } from './asked-request.ts'
import type { RequestTurn } from './request-turn.ts'

const running: { close(): unknown }[] = []
afterEach(async () => {
  for (const one of running.splice(0).toReversed()) await one.close()
})

const host = 'code.test'

const plainTurn: RequestTurn = {
  fill: (headers) => ({ headers }),
  fillWebSocket: (headers) => headers,
  fillApproved: (headers) => headers,
  answer: { headers: (raw) => raw, body: () => null },
  settled: () => {},
}

/** A site that speaks HTTP/2, a proxy that inspects its host, and a program's session. */
async function aPair(
  answer?: (request: Http2ServerRequest, response: Http2ServerResponse) => void,
  options: InspectionOptions = {},
) {
  const made = await anInspectedHttp2Site(host, running, { answer, ...options })
  const session = await openSession(made.proxy, made.target)
  running.push(session)
  return { ...made, session }
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Buffer
  readonly trailers: Readonly<Record<string, unknown>>
}

async function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  const chunks: Buffer[] = []
  let headers: Record<string, unknown> = {}
  let trailers: Record<string, unknown> = {}
  stream.on('response', (given) => (headers = given))
  stream.on('trailers', (given) => (trailers = given))
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  await new Promise((resolve, reject) => stream.once('close', resolve).once('error', reject))
  return { status: Number(headers[':status']), headers, body: Buffer.concat(chunks), trailers }
}

const get = (session: ClientHttp2Session, path: string, more: Record<string, string> = {}) =>
  answerOf(session.request({ ':path': path, ...more }))

async function bodyOf(request: AsyncIterable<unknown> | Iterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

describe('an inspected connection over HTTP/2', () => {
  test('requests of one connection reach the server over HTTP/2, and each is decided', async () => {
    const { session, proxy, requests, site, target } = await aPair()
    const answers = await Promise.all(
      ['/one?a=b', '/two', '/three'].map((path) => get(session, path, { 'x-own': 'kept' })),
    )
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 200, headers: { via: '1.1 flotilla' } })
      expect(answer.body.toString()).toBe('an answer')
    }
    expect(proxy.decided.map(({ path }) => path).toSorted()).toEqual(['/one?a=b', '/three', '/two'])
    expect(site.protocols).toEqual(['h2'])
    expect(requests[0]?.headers).toMatchObject({ ':authority': target, 'x-own': 'kept', te: 'trailers' })
  })

  test('a refused stream does not reach the server, and the others of its connection do', async () => {
    const { session, requests } = await aPair(undefined, {
      takeTurn: (_connection, { path }) => {
        if (path === '/refused') throw new Problem('denied', { detail: 'a rule' })
        return plainTurn
      },
    })
    const [allowed, refused, later] = await Promise.all([
      get(session, '/allowed'),
      get(session, '/refused'),
      get(session, '/later'),
    ])
    expect(refused).toMatchObject({ status: 403, headers: { 'content-type': 'application/problem+json' } })
    expect(JSON.parse(refused.body.toString())).toMatchObject({ code: 'denied' })
    expect([allowed.status, later.status]).toEqual([200, 200])
    expect(requests.map(({ url }) => url).toSorted()).toEqual(['/allowed', '/later'])
  })

  test('headers leave as the turn fills them in, and answers and trailers return as it cleans them', async () => {
    const { session } = await aPair(
      (request, response) => {
        response.setHeader('x-echo', String(request.headers.authorization))
        response.setHeader('set-cookie', ['a=1', 'b=2'])
        response.addTrailers({ 'grpc-status': '0', 'x-said': String(request.headers.authorization) })
        response.end('the value')
      },
      {
        takeTurn: () => ({
          ...plainTurn,
          fill: (headers) => ({ headers: headers.map((one) => one.replace('placeholder', 'value')) }),
          answer: { headers: (raw) => raw.map((one) => one.replace('value', 'hidden')), body: () => null },
        }),
      },
    )
    const answer = await get(session, '/', { authorization: 'placeholder' })
    expect(answer).toMatchObject({
      headers: { 'x-echo': 'hidden', 'set-cookie': ['a=1', 'b=2'] },
      trailers: { 'grpc-status': '0', 'x-said': 'hidden' },
    })
  })

  test('an answer of trailers alone, one to HEAD and one without a body arrive as they are', async () => {
    const { session, site } = await aPair((request, response) => {
      if (request.url === '/trailers') return
      response.writeHead(request.method === 'HEAD' ? 200 : 204, { 'x-a': 'b' }).end()
    })
    site.server.on('stream', (stream: ServerHttp2Stream, headers) => {
      if (headers[':path'] === '/trailers')
        stream.respond({ ':status': 200, 'grpc-status': '5' }, { endStream: true })
    })
    expect((await get(session, '/trailers')).headers).toMatchObject({ ':status': 200, 'grpc-status': '5' })
    expect((await get(session, '/', { ':method': 'HEAD' })).headers).toMatchObject({
      ':status': 200,
      'x-a': 'b',
    })
    expect((await get(session, '/')).headers).toMatchObject({ ':status': 204, 'x-a': 'b' })
  })

  test('uploads and downloads of many megabytes pass unchanged, several at once', async () => {
    const sent = randomBytes(5 * 1024 * 1024)
    const { session } = await aPair((request, response) => void request.pipe(response))
    const answers = await Promise.all(
      [1, 2, 3].map(() => {
        const stream = session.request({ ':method': 'POST', ':path': '/echo' })
        stream.end(sent)
        return answerOf(stream)
      }),
    )
    for (const { body } of answers) expect(body.equals(sent)).toBe(true)
  })

  test('both directions of a stream carry messages while it is open', async () => {
    const { session } = await aPair((request, response) => {
      request.on('data', (chunk: Buffer) => response.write(`seen ${chunk.toString()};`))
      request.on('end', () => response.end())
    })
    const stream = session.request({ ':method': 'POST', ':path': '/chat' })
    let said = ''
    stream.on('data', (chunk: Buffer) => (said += chunk.toString()))
    stream.write('one')
    await eventually('the first answer', async () => said === 'seen one;')
    stream.write('two')
    await eventually('the second answer', async () => said === 'seen one;seen two;')
    stream.end()
    await once(stream, 'close')
    expect(stream.rstCode).toBe(0)
  })

  test('a server may answer before it has read the whole body', async () => {
    const { session } = await aPair((request, response) => {
      request.once('data', () => response.writeHead(413).end('enough'))
    })
    const stream = session.request({ ':method': 'POST', ':path': '/' })
    stream.write(randomBytes(100_000))
    const answer = await answerOf(stream)
    expect(answer.status).toBe(413)
    expect(answer.body.toString()).toBe('enough')
  })

  test('a program that waits for a sign before it sends its body gets it', async () => {
    const { session } = await aPair((request, response) => void request.pipe(response))
    const stream = session.request({ ':method': 'POST', ':path': '/', expect: '100-continue' })
    stream.once('continue', () => stream.end('a body'))
    expect((await answerOf(stream)).body.toString()).toBe('a body')
  })

  test('headers with other letters than those of ASCII pass as they are', async () => {
    const { session, requests } = await aPair()
    const written = Buffer.from('é€', 'utf8').toString('latin1')
    expect((await get(session, '/', { 'x-own': written })).status).toBe(200)
    expect(requests[0]?.headers['x-own']).toBe(written)
  })

  test('an answer that the server breaks off does not look complete', async () => {
    const { session } = await aPair((_request, response) => {
      response.write('half')
      setImmediate(() => response.stream.close(2))
    })
    await expect(get(session, '/')).rejects.toThrow(/INTERNAL_ERROR/)
  })

  test('a request that the program cancels is cancelled at the server', async () => {
    const { session, requests } = await aPair(() => {})
    const stream = session.request({ ':path': '/slow' })
    stream.on('error', () => {})
    await eventually('the request arrived', async () => requests.length === 1)
    const ended = once(requests[0]!.stream, 'close')
    stream.close(8)
    await ended
    expect(requests[0]?.stream.rstCode).toBe(8)
  })

  test('a request that the program cancels while it is decided does not leave', async () => {
    const decided = Promise.withResolvers<RequestTurn>()
    const { session, requests, proxy } = await aPair(undefined, { takeTurn: () => decided.promise })
    const stream = session.request({ ':path': '/' })
    stream.on('error', () => {})
    await eventually('the request is being decided', async () => proxy.decided.length === 1)
    stream.close(8)
    await once(stream, 'close')
    await new Promise((resolve) => session.ping(resolve))
    const settled: unknown[] = []
    decided.resolve({ ...plainTurn, settled: (result) => settled.push(result) })
    await eventually('it is settled', async () => settled.length === 1)
    expect(settled).toEqual([{ problem: 'client-gone' }])
    expect(requests).toEqual([])
  })

  test('a request that a rule asks for is kept whole, and its stream can wait for the answer', async () => {
    const kept: { asked: AskedRequest; body: Buffer }[] = []
    const decision = { verdict: 'ask', rule: 'push', line: 2, reason: 'A push.' } as const
    const { session, requests } = await aPair(undefined, {
      takeTurn: () => ({ ...plainTurn, fill: () => ({ asked: { decision, credentials: [] } }) }),
      ask: async (asked) => {
        kept.push({ asked, body: await bodyOf(asked.body ?? []) })
        if (asked.path === '/late') throw new Problem('approval-required', { detail: 'later' })
        return {
          status: 201,
          headers: ['X-A', 'b'],
          body: Buffer.from('done'),
          trailers: ['grpc-status', '0'],
        }
      },
    })
    const post = (path: string) => {
      const stream = session.request({ ':method': 'POST', ':path': path, 'x-own': 'kept' })
      stream.end('a body')
      return answerOf(stream)
    }
    const held = await post('/held')
    expect(held).toMatchObject({ status: 201, headers: { 'x-a': 'b' }, trailers: { 'grpc-status': '0' } })
    expect(held.body.toString()).toBe('done')
    expect((await post('/late')).status).toBe(403)
    expect(kept.map(({ body }) => body.toString())).toEqual(['a body', 'a body'])
    expect(kept[0]?.asked).toMatchObject({ method: 'POST', path: '/held' })
    expect(kept[0]?.asked.headers).toContain('x-own')
    expect(requests).toEqual([])
  })

  test('a session that the server ended is opened again for the next request', async () => {
    const { session, site } = await aPair()
    expect((await get(session, '/one')).status).toBe(200)
    await site.endConnections()
    expect((await get(session, '/two')).status).toBe(200)
    expect(site.protocols).toEqual(['h2', 'h2'])
  })

  test('the end of the run closes the connection with all its streams', async () => {
    const { session, proxy, requests } = await aPair(() => {})
    const stream = session.request({ ':path': '/slow' })
    stream.on('error', () => {})
    await eventually('the request arrived', async () => requests.length === 1)
    const closed = once(session, 'close')
    proxy.working.delete('scout')
    await closed
    expect(stream.destroyed).toBe(true)
    await eventually('the place is free', async () => proxy.openTunnels() === 0)
  })
})

describe('the version of HTTP of an inspected connection', () => {
  test('HTTP/2 is not offered if the server does not speak it', async () => {
    const outside = await anAuthority('outside')
    const site = await aTlsSite(outside, host, (_request, response) => void response.end('an answer'))
    const proxy = await anInspectingProxy({ hosts: [host], outside, ports: [site.port] })
    running.push(site, proxy)
    const client = await proxy.open(`${host}:${site.port}`, { ALPNProtocols: ['h2', 'http/1.1'] })
    expect(client.alpnProtocol).toBe('http/1.1')
  })

  test('a program that speaks HTTP/1.1 alone reaches the server over HTTP/1.1, later without a second connection', async () => {
    const { proxy, target, site, session } = await aPair()
    session.destroy()
    const line = `GET / HTTP/1.1\r\nHost: ${target}\r\nConnection: close\r\n\r\n`
    for (let at = 0; at < 2; at++) expect(await proxy.send(target, line)).toContain('an answer')
    expect(site.protocols).toEqual(['h2', 'h2', 'http/1.1', 'http/1.1'])
    const again = await openSession(proxy, target)
    running.push(again)
    expect((await get(again, '/')).status).toBe(200)
    expect(site.protocols.slice(4)).toEqual(['http/1.1', 'h2'])
  })
})
