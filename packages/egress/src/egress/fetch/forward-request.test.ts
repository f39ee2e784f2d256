import { allowedEffects } from '../../../../testing/src/allowed-effects.ts'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { httpReplySchema, httpRequestSchema } from '@flotilla/protocol/mesh-agent-api'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { collectJournal } from '../../../../../tests/support/collected-ports.ts'
import { aCredentialRoom } from '../../../../../tests/support/credential-room.ts'
import { aLine } from '../../../../../tests/support/open-line.ts'
import { startWebServer } from '../../../../../tests/support/web-server.ts'
import { verifies } from '../../../../../tests/verifies.ts'
import type { Guard } from '../../../../identity/src/access/action.ts'
import type { Caller } from '../../../../identity/src/access/caller.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { isPublicAddress } from '../policy/public-addresses.ts'
import { createForwardRequest } from './forward-request.ts'
import type { ForwardRequestDeps, OpenLine } from './forward-request.ts'
import { createPinnedFetch } from './pinned-fetch.ts'
import { ownLoop } from '../../../../testing/src/own-loop.ts'

const scout: Caller = { kind: 'agent', agentId: 'scout', token: 'door', run: null }

function refusing(problem: Problem): Guard {
  return () => {
    throw problem
  }
}

async function aWeb(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = await startWebServer(answer)
  onTestFinished(() => server.close())
  return server
}

/** Names resolve as given; loopback counts as public, other private addresses do not. */
function aServer(
  ports: readonly number[],
  names: Readonly<Record<string, readonly string[]>> = { 'site.test': ['127.0.0.1'] },
  more: Partial<ForwardRequestDeps> = {},
) {
  const journal = collectJournal()
  const lookups: string[] = []
  const fetch = createPinnedFetch({
    resolve: async (name) => {
      lookups.push(name)
      const found = names[name]
      if (!found) throw new Error(`ENOTFOUND ${name}`)
      return found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    },
    isAllowed: (address) => address === '127.0.0.1' || isPublicAddress(address),
    allowedPorts: ports,
  })
  const forward = createForwardRequest({
    checkEffect: allowedEffects,
    ask: () => {},
    loop: ownLoop(),
    guard: () => {},
    fetchFor: () => fetch,
    journal,
    clock: systemClock,
    holdLease: () => () => {},
    credentials: aCredentialRoom().open,
    ...more,
  })
  const ask = (url: string, request: object = {}, line: Partial<OpenLine> = {}) =>
    forward(scout, httpRequestSchema.parse({ url, ...request }), aLine(line))
  return { ask, journal, lookups }
}

describe('a request to the outside', () => {
  test('a request reaches a web site under its own name and returns text', async () => {
    verifies('endpoints:outbound:filtered')
    const web = await aWeb((_request, response) => response.writeHead(201, { 'x-a': 'b' }).end('héllo'))
    const { ask, journal } = aServer([web.port])
    const reply = await ask(`http://site.test:${web.port}/a?b=c#d`, {
      method: 'POST',
      headers: { 'X-Mine': '1' },
      body: 'sent',
    })
    expect(httpReplySchema.parse(reply)).toMatchObject({
      status: 201,
      body: 'héllo',
      truncated: false,
      headers: { 'x-a': 'b' },
    })
    expect(web.requests[0]).toMatchObject({
      method: 'POST',
      url: '/a?b=c',
      body: 'sent',
      headers: { host: `site.test:${web.port}`, 'x-mine': '1' },
    })
    expect(journal.entries).toMatchObject([
      { actor: 'agent:scout', action: 'http.requested', subject: `site.test:${web.port}` },
    ])
    expect(JSON.stringify(journal.entries)).not.toMatch(/b=c|sent|x-mine/i)
  })

  test('a request that the guard denies causes no DNS lookup', async () => {
    const guard = refusing(new Problem('denied'))
    const { ask, lookups } = aServer([80], undefined, { guard })
    await expect(ask('http://site.test/')).rejects.toMatchObject({ code: 'denied' })
    expect(lookups).toEqual([])
  })

  test.each([
    ['http://10.0.0.1/', 'address-refused'],
    ['http://169.254.169.254/latest/meta-data', 'address-refused'],
    ['http://[::1]/', 'address-refused'],
    ['http://[::ffff:127.0.0.1]/', 'address-refused'],
    ['http://0x7f.1.1.1/', 'address-refused'],
    ['http://2130706434/', 'address-refused'],
    ['http://127.0.0.2/', 'address-refused'],
    ['http://private.test/', 'address-refused'],
    ['http://mixed.test/', 'address-refused'],
    ['https://metadata.test/', 'address-refused'],
    ['http://site.test:22/', 'port-refused'],
    ['ftp://site.test/', 'address-refused'],
    ['file:///etc/passwd', 'address-refused'],
    ['http://a:b@site.test/', 'address-refused'],
  ])('a request to %s is refused as %s', async (url, code) => {
    verifies('errors:outbound:blocked-range')
    const { ask, journal } = aServer([80, 443], {
      'site.test': ['127.0.0.1'],
      'private.test': ['192.168.0.9'],
      'mixed.test': ['8.8.8.8', 'fd00::1'],
      'metadata.test': ['169.254.169.254'],
    })
    await expect(ask(url)).rejects.toMatchObject({ code })
    expect(journal.entries).toMatchObject([{ detail: { problem: code } }])
  })

  test.each(['http://nowhere.test/', 'https://empty.test/'])(
    'a request to the outside to %s is refused, since its name leads nowhere',
    async (url) => {
      verifies('errors:outbound:dns-failure', 'limits:outbound-dns-failure')
      const { ask, journal } = aServer([80, 443], { 'empty.test': [] })
      await expect(ask(url)).rejects.toMatchObject({ code: 'name-unresolved' })
      expect(journal.entries).toMatchObject([{ detail: { problem: 'name-unresolved' } }])
    },
  )

  test('a request goes to the checked address, even if the name changes at once', async () => {
    verifies('limits:outbound-dns-pinned')
    const web = await aWeb((_request, response) => response.end('judged'))
    let lookups = 0
    const fetch = createPinnedFetch({
      resolve: async () => [{ address: lookups++ === 0 ? '127.0.0.1' : '127.6.6.6', family: 4 }],
      isAllowed: (address) => address === '127.0.0.1',
      allowedPorts: [web.port],
    })
    const { ask } = aServer([web.port], {}, { fetchFor: () => fetch })
    expect((await ask(`http://rebinding.test:${web.port}/`)).body).toBe('judged')
    expect(lookups).toBe(1)
    await expect(ask(`http://rebinding.test:${web.port}/`)).rejects.toMatchObject({ code: 'address-refused' })
  })

  test.each([
    'host',
    'Connection',
    'transfer-encoding',
    'Content-Length',
    'proxy-authorization',
    'upgrade',
    'te',
    'bad name',
    'x\r\ny',
  ])('a request with the header %j is refused', async (name) => {
    const { ask, lookups } = aServer([80])
    await expect(ask('http://site.test/', { headers: { [name]: 'x' } })).rejects.toMatchObject({
      code: 'bad-request',
    })
    expect(lookups).toEqual([])
  })

  test('a request with a line break in a header is refused', async () => {
    const { ask } = aServer([80])
    await expect(ask('http://site.test/', { headers: { a: 'x\r\nhost: y' } })).rejects.toMatchObject({
      code: 'bad-request',
    })
  })

  test('a request is aborted after its timeout, also in the middle of the answer', async () => {
    const web = await aWeb((request, response) => {
      if (request.url === '/slow') response.writeHead(200).write('begun')
    })
    const { ask } = aServer([web.port])
    const origin = `http://site.test:${web.port}`
    await expect(ask(`${origin}/silent`, { timeout_ms: 150 })).rejects.toMatchObject({
      code: 'upstream-timeout',
    })
    await expect(ask(`${origin}/slow`, { timeout_ms: 150 })).rejects.toMatchObject({
      code: 'upstream-timeout',
    })
  })

  test('a request is aborted while its name is being resolved', async () => {
    const fetch = createPinnedFetch({ resolve: () => new Promise(() => {}), isAllowed: () => true })
    const { ask } = aServer([80], {}, { fetchFor: () => fetch })
    await expect(ask('http://slow.test/', { timeout_ms: 100 })).rejects.toMatchObject({
      code: 'upstream-timeout',
    })
  })

  test('a HEAD request for a compressed page is not reported as broken', async () => {
    const web = await aWeb((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(),
    )
    const { ask } = aServer([web.port])
    expect(await ask(`http://site.test:${web.port}/`, { method: 'HEAD' })).toMatchObject({
      status: 200,
      body: '',
    })
    expect(await ask(`http://site.test:${web.port}/`)).toMatchObject({ status: 200, body: '' })
  })

  test('a long answer is truncated and marked as such', async () => {
    const web = await aWeb((_request, response) => response.end('x'.repeat(3 * 1024 * 1024)))
    const { ask } = aServer([web.port])
    const reply = await ask(`http://site.test:${web.port}/`)
    expect(reply).toMatchObject({ truncated: true })
    expect(reply.body).toHaveLength(50_000)
  })

  test.each([
    ['gzip', gzipSync(Buffer.alloc(200 * 1024 * 1024, 'A'))],
    ['br', brotliCompressSync(Buffer.alloc(50 * 1024 * 1024, 'A'))],
  ])('a %s bomb is read only up to the limit', async (encoding, bomb) => {
    const web = await aWeb((_request, response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end(bomb),
    )
    const { ask, journal } = aServer([web.port])
    const before = process.memoryUsage().rss
    const reply = await ask(`http://site.test:${web.port}/`)
    expect(reply).toMatchObject({ truncated: true })
    expect(journal.entries[0]?.detail).toMatchObject({ bytes: 1024 * 1024 })
    expect(process.memoryUsage().rss - before).toBeLessThan(60 * 1024 * 1024)
  })

  test('a compressed answer is decoded, and a broken one is rejected', async () => {
    const web = await aWeb((request, response) => {
      const body = request.url === '/broken' ? Buffer.from('no gzip') : gzipSync('plain again')
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(body)
    })
    const { ask } = aServer([web.port])
    expect((await ask(`http://site.test:${web.port}/`)).body).toBe('plain again')
    await expect(ask(`http://site.test:${web.port}/broken`)).rejects.toMatchObject({
      code: 'upstream-failed',
    })
  })
})

describe('a redirect', () => {
  test('a redirect to a private address is refused without a connection', async () => {
    verifies('limits:outbound-redirects:revalidated')
    for (const target of [
      'http://169.254.169.254/latest/',
      'http://10.1.2.3/',
      'http://inside.test/',
      'file:///etc/passwd',
      'http://[::ffff:10.0.0.1]/',
    ]) {
      const web = await aWeb((_request, response) => response.writeHead(302, { location: target }).end())
      const { ask } = aServer([web.port, 80], { 'site.test': ['127.0.0.1'], 'inside.test': ['172.17.0.1'] })
      await expect(ask(`http://site.test:${web.port}/`)).rejects.toMatchObject({ code: 'address-refused' })
    }
  })

  test('five redirects are followed and a sixth is not', async () => {
    verifies('limits:outbound-redirects')
    const web = await aWeb((request, response) => {
      const left = Number((request.url ?? '/0').slice(1))
      if (left === 0) response.end('arrived')
      else response.writeHead(307, { location: `/${left - 1}` }).end()
    })
    const { ask } = aServer([web.port])
    expect((await ask(`http://site.test:${web.port}/5`)).body).toBe('arrived')
    await expect(ask(`http://site.test:${web.port}/6`)).rejects.toMatchObject({ code: 'upstream-failed' })
  })

  test('a redirect to another origin drops everything that may be a secret', async () => {
    verifies('limits:outbound-authorization-dropped')
    const far = await aWeb((_request, response) => response.end('far'))
    const web = await aWeb((_request, response) =>
      response.writeHead(308, { location: `http://other.test:${far.port}/` }).end(),
    )
    const { ask } = aServer([web.port, far.port], { 'site.test': ['127.0.0.1'], 'other.test': ['127.0.0.1'] })
    const headers = {
      Authorization: 'Bearer x',
      cookie: 'a=b',
      'X-Api-Key': 'k',
      'x-auth-token': 't',
      'x-session': 's',
      accept: 'text/html',
    }
    const reply = await ask(`http://site.test:${web.port}/`, { headers, method: 'PUT', body: 'b' })
    expect(reply.url).toBe(`http://other.test:${far.port}/`)
    expect(Object.keys(web.requests[0]?.headers ?? {})).toEqual(
      expect.arrayContaining(['authorization', 'cookie', 'x-api-key']),
    )
    expect(Object.keys(far.requests[0]?.headers ?? {}).toSorted()).toEqual([
      'accept',
      'accept-encoding',
      'connection',
      'content-length',
      'host',
    ])
    expect(far.requests[0]).toMatchObject({ method: 'PUT', body: 'b' })
  })

  test('a redirect back to the first origin does not restore a secret', async () => {
    const web = await aWeb((request, response) => {
      if (request.url === '/')
        response.writeHead(302, { location: `http://other.test:${web.port}/hop` }).end()
      else if (request.url === '/hop')
        response.writeHead(302, { location: `http://site.test:${web.port}/home` }).end()
      else response.end()
    })
    const { ask } = aServer([web.port], { 'site.test': ['127.0.0.1'], 'other.test': ['127.0.0.1'] })
    await ask(`http://site.test:${web.port}/`, { headers: { authorization: 'x' } })
    expect(web.requests.map((request) => request.headers.authorization)).toEqual(['x', undefined, undefined])
  })

  test('a redirect within one origin keeps headers and body', async () => {
    const web = await aWeb((request, response) => {
      if (request.url === '/') response.writeHead(307, { location: '/next' }).end()
      else response.end()
    })
    const { ask } = aServer([web.port])
    await ask(`http://site.test:${web.port}/`, { headers: { authorization: 'x' }, method: 'POST', body: 'b' })
    expect(web.requests[1]).toMatchObject({ method: 'POST', body: 'b', headers: { authorization: 'x' } })
  })

  test.each([
    [301, 'POST', 'GET'],
    [302, 'POST', 'GET'],
    [303, 'PUT', 'GET'],
    [303, 'HEAD', 'HEAD'],
    [307, 'POST', 'POST'],
    [308, 'DELETE', 'DELETE'],
  ])('a redirect with %i turns %s into %s', async (status, method, expected) => {
    const web = await aWeb((request, response) => {
      if (request.url === '/') response.writeHead(status, { location: '/next' }).end()
      else response.end()
    })
    const { ask } = aServer([web.port])
    await ask(`http://site.test:${web.port}/`, {
      method,
      headers: { 'content-type': 'text/plain' },
      body: method === 'HEAD' ? '' : 'b',
    })
    expect(web.requests[1]?.method).toBe(expected)
    expect(web.requests[1]?.headers['content-type']).toBe(expected === 'GET' ? undefined : 'text/plain')
  })
})

describe('the time at which a request leaves', () => {
  const post = { method: 'POST', body: 'x' }

  test('the departure is reported once, before the server receives anything, across redirects', async () => {
    const web = await aWeb((request, response) => {
      if (request.url === '/') response.writeHead(307, { location: '/next' }).end()
      else response.end('done')
    })
    const heard: number[] = []
    const { ask } = aServer([web.port])
    const reply = await ask(`http://site.test:${web.port}/`, post, {
      dispatching: () => void heard.push(web.requests.length),
    })
    expect([reply.body, heard, web.requests.length]).toEqual(['done', [0], 2])
  })

  test('no departure is reported for a request that is refused, unresolved or not accepted', async () => {
    const gone = await aWeb(() => {})
    await gone.close()
    const dispatching = () => expect.fail('it left')
    const { ask } = aServer([gone.port, 80, 443])
    for (const [url, code] of [
      ['http://10.0.0.1/', 'address-refused'],
      ['http://none.test/', 'name-unresolved'],
      [`http://site.test:${gone.port}/`, 'upstream-failed'],
      [`https://site.test:${gone.port}/`, 'upstream-failed'],
    ] as const)
      await expect(ask(url, post, { dispatching }), url).rejects.toMatchObject({ code })
  })

  test('no departure is reported for a server without TLS', async () => {
    const web = await aWeb((_request, response) => response.end())
    const { ask } = aServer([web.port])
    const dispatching = () => expect.fail('it left')
    await expect(ask(`https://site.test:${web.port}/`, post, { dispatching })).rejects.toMatchObject({
      code: 'upstream-failed',
    })
  })

  test('a request that must not leave is not sent', async () => {
    const web = await aWeb((_request, response) => response.end())
    const { ask } = aServer([web.port])
    const dispatching = () => {
      throw new Problem('disk-full', { detail: 'no row can be written' })
    }
    await expect(ask(`http://site.test:${web.port}/`, post, { dispatching })).rejects.toMatchObject({
      code: 'disk-full',
    })
    expect(web.requests).toEqual([])
  })
})

test('a request continues after its client has disconnected, without extending the lease', async () => {
  const arrived = Promise.withResolvers<ServerResponse>()
  const web = await aWeb((_request, response) => arrived.resolve(response))
  const leases: string[] = []
  const holdLease = () => {
    leases.push('held')
    return () => void leases.push('released')
  }
  const { ask } = aServer([web.port], undefined, { holdLease })
  const hangUp = new AbortController()
  const asking = ask(`http://site.test:${web.port}/`, {}, { gone: hangUp.signal })
  const response = await arrived.promise
  expect(leases).toEqual(['held'])
  hangUp.abort()
  expect(leases).toEqual(['held', 'released'])
  response.end('late')
  expect((await asking).body).toBe('late')
})
