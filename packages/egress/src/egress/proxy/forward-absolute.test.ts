import * as fc from 'fast-check'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { eventually } from '../../../../../tests/support/eventually.ts'
import { startWebServer } from '../../../../../tests/support/web-server.ts'
import { aFarEnd, aProxy, proxyAuthorization } from '../../../../testing/src/proxy-harness.ts'
import type { ProxyHarnessOptions } from '../../../../testing/src/proxy-harness.ts'

const running: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of running.splice(0).toReversed()) await one.close()
})

/** A web site at `site.test` behind the proxy, and a client that sends raw bytes. */
async function aSite(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  options: ProxyHarnessOptions = {},
) {
  const web = await startWebServer(answer)
  const proxy = await aProxy({ ports: [web.port], ...options })
  running.push(web, proxy)
  const origin = `http://site.test:${web.port}`
  const ask = (head: string, lines: readonly string[] = [], body = '') =>
    proxy.raw(
      [
        head.replace('/', `${origin}/`),
        proxyAuthorization('scout-program'),
        'Connection: close',
        ...lines,
        '',
        body,
      ].join('\r\n'),
    )
  return { web, proxy, origin, ask }
}

describe('a request in absolute form', () => {
  test('a request and its answer are forwarded without connection headers', async () => {
    const { web, ask, proxy } = await aSite((_request, response) =>
      response
        .writeHead(201, { 'x-end': 'kept', 'keep-alive': 'timeout=9', 'set-cookie': ['a=1', 'b=2'] })
        .end('made'),
    )
    const answer = await ask(
      'POST /a//b?c=%20d HTTP/1.1',
      [
        'Host: elsewhere.test',
        'Content-Length: 4',
        'X-Kept: one',
        'X-Kept: two',
        'X-Named: gone',
        'Connection: x-named, content-length',
        'Proxy-Connection: keep-alive',
        'Keep-Alive: timeout=5',
        'TE: trailers',
        'Upgrade: h2c',
        'HTTP2-Settings: AAMAAABkAAQAAP__',
        'Cookie: mine=1',
      ],
      'sent',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 201 Created\r\n/)
    expect(answer).toMatch(/\r\nx-end: kept\r\n/i)
    expect(answer.match(/set-cookie: /gi)).toHaveLength(2)
    expect(answer).not.toMatch(/timeout=9/)
    expect(answer).toMatch(/made/)
    expect(web.requests[0]).toMatchObject({ method: 'POST', url: '/a//b?c=%20d', body: 'sent' })
    expect(web.requests[0]?.headers).toEqual({
      host: `site.test:${web.port}`,
      'content-length': '4',
      'x-kept': 'one, two',
      cookie: 'mine=1',
      via: '1.1 flotilla',
      connection: 'close',
    })
    await eventually('it is counted', async () => proxy.counts.list(1)[0]?.connections === 1)
    expect(proxy.counts.list(1)[0]).toMatchObject({ agentId: 'scout', host: 'site.test', refused: 0 })
  })

  test('a chunked request is forwarded in chunks, and one without a body has none', async () => {
    const { web, ask } = await aSite((_request, response) => response.end())
    await ask('POST / HTTP/1.1', ['Transfer-Encoding: chunked'], '3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n')
    await ask('POST / HTTP/1.1')
    await ask('GET / HTTP/1.1')
    await ask('DELETE / HTTP/1.1', ['Content-Length: 1'], 'x')
    expect(web.requests.map(({ method, body }) => `${method} ${body}`)).toEqual([
      'POST abcde',
      'POST ',
      'GET ',
      'DELETE x',
    ])
    expect(web.requests[0]?.headers['transfer-encoding']).toBe('chunked')
    expect(web.requests[1]?.headers['content-length']).toBe('0')
    expect(web.requests[2]?.headers).not.toHaveProperty('transfer-encoding')
  })

  test('each request on a kept-alive connection needs the token', async () => {
    const { proxy, origin, web } = await aSite((_request, response) => response.end('ok'))
    const answer = await proxy.raw(
      `GET ${origin}/1 HTTP/1.1\r\n${proxyAuthorization('scout-program')}\r\n\r\n` +
        `GET ${origin}/2 HTTP/1.1\r\nConnection: close\r\n\r\n`,
    )
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 407'])
    expect(web.requests.map(({ url }) => url)).toEqual(['/1'])
  })

  test.each([
    ['to metadata', 'http://169.254.169.254/latest/', 403],
    ['to the mesh', 'http://127.0.0.2:80/', 403],
    ['to a name inside', 'http://inside.test/', 403],
    ['in decimal', 'http://2130706434/', 403],
    ['with a user name', 'http://a:b@site.test/', 400],
    ['without a host', 'http:///x', 403],
  ])('%s is refused by the proxy', async (_, url, status) => {
    const { proxy } = await aSite((_request, response) => response.end(), { ports: [80] })
    const answer = await proxy.raw(
      `GET ${url} HTTP/1.1\r\n${proxyAuthorization('scout-program')}\r\nConnection: close\r\n\r\n`,
    )
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(answer).toContain('application/problem+json')
  })

  test('a redirect is returned to the program, whose next request is checked again', async () => {
    const { ask } = await aSite((_request, response) =>
      response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    )
    expect(await ask('GET / HTTP/1.1')).toMatch(/^HTTP\/1\.1 302 [\s\S]*location: http:\/\/169/i)
  })

  test('a protocol upgrade is refused, requested or not', async () => {
    const { ask, web } = await aSite((_request, response) => response.end())
    const answer = await ask('GET / HTTP/1.1', ['Upgrade: websocket', 'Sec-WebSocket-Version: 13'])
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(web.requests).toEqual([])
    const far = await aFarEnd((socket) =>
      socket.write('HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nfree'),
    )
    const proxy = await aProxy({ ports: [far.port] })
    running.push(far, proxy)
    const unasked = await proxy.raw(
      `GET http://site.test:${far.port}/ HTTP/1.1\r\n${proxyAuthorization('scout-program')}\r\n\r\n`,
    )
    expect(unasked).toMatch(/^HTTP\/1\.1 502 /)
    expect(unasked).not.toContain('free')
  })

  test.each([
    ['two lengths', ['Content-Length: 4', 'Content-Length: 5'], 'abcde'],
    ['a length and pieces', ['Content-Length: 4', 'Transfer-Encoding: chunked'], '0\r\n\r\n'],
    ['pieces and a length', ['Transfer-Encoding: chunked', 'Content-Length: 4'], '0\r\n\r\n'],
    ['a strange encoding', ['Transfer-Encoding: xchunked'], '0\r\n\r\n'],
    ['pieces twice over', ['Transfer-Encoding: chunked, identity'], '0\r\n\r\n'],
    ['a space before the colon', ['Transfer-Encoding : chunked'], '0\r\n\r\n'],
    ['a folded header', ['X-A: b', ' Transfer-Encoding: chunked'], '0\r\n\r\n'],
    ['a length with a sign', ['Content-Length: +4'], 'abcd'],
    ['an invalid length', ['Content-Length: 0x4'], 'abcd'],
    ['a bare line feed', ['X-A: b\nX-B: c'], ''],
    ['a bare carriage return', ['X-A: b\rX-B: c'], ''],
    ['a null byte', ['X-A: b\0c'], ''],
    ['a header without a name', [': x'], ''],
  ])('a request with %s is refused and not forwarded', async (_, lines, body) => {
    const { ask, web } = await aSite((_request, response) => response.end('reached'))
    const answer = await ask('POST / HTTP/1.1', lines, body)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).not.toContain('reached')
    expect(web.requests).toEqual([])
  })

  test("whatever its bytes are, the server sees one request without the proxy's token, or none", async () => {
    const { proxy, origin, web } = await aSite((_request, response) => response.end())
    const piece = fc.oneof(
      fc.constantFrom(
        'Content-Length: 3',
        'Transfer-Encoding: chunked',
        'Transfer-Encoding:\tchunked',
        ' folded: yes',
        '\tfolded',
        'Connection: content-length, host',
        'Connection: close, via',
        'Host: evil.test',
        'Proxy-Authorization: Basic eDp5',
        'proxy-authorization : Basic eDp5',
        'GET /smuggled HTTP/1.1',
        'Expect: 100-continue',
        'Trailer: x',
        '',
        '0',
      ),
      fc.string({ maxLength: 20, unit: 'binary-ascii' }),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('GET', 'POST', 'HEAD', 'PUT'),
        fc.array(piece, { maxLength: 6 }),
        fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r'),
        async (method, lines, end) => {
          web.requests.length = 0
          const head = `${method} ${origin}/asked HTTP/1.1\r\n${proxyAuthorization('scout-program')}\r\n`
          await proxy.raw(`${head}Connection: close\r\n${lines.join(end)}\r\n\r\n`, 100)
          expect(web.requests.length).toBeLessThanOrEqual(1)
          for (const request of web.requests) {
            expect(request.url).toBe('/asked')
            expect(request.headers.host).toBe(new URL(origin).host)
            expect(request.headers).not.toHaveProperty('proxy-authorization')
          }
        },
      ),
      { numRuns: 150 },
    )
  })

  test('a server that does not speak HTTP, or breaks off, gives a problem or a broken answer', async () => {
    const far = await aFarEnd((socket) => {
      socket.once('data', (chunk: Buffer) => {
        if (chunk.toString().includes('/cut')) {
          socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this')
        } else socket.end('220 mail\r\n')
      })
    })
    const proxy = await aProxy({ ports: [far.port] })
    running.push(far, proxy)
    const get = (path: string) =>
      proxy.raw(
        `GET http://site.test:${far.port}${path} HTTP/1.1\r\n${proxyAuthorization('scout-program')}\r\nConnection: close\r\n\r\n`,
      )
    expect(await get('/')).toMatch(/^HTTP\/1\.1 502 [\s\S]*upstream-failed/)
    const cut = await get('/cut')
    expect(cut.slice(cut.indexOf('\r\n\r\n') + 4).length).toBeLessThan(100)
    await eventually('nothing is left open', async () => proxy.openTunnels() === 0)
  })

  test('a request is aborted when its run ends in the middle of the answer', async () => {
    const { ask, proxy } = await aSite((_request, response) => void response.writeHead(200).write('begun'))
    const answer = ask('GET / HTTP/1.1')
    await eventually('it has begun', async () => proxy.counts.list(1)[0]?.connections === 1)
    proxy.working.delete('scout')
    expect(await answer).toContain('begun')
    await eventually('nothing is left open', async () => proxy.openTunnels() === 0)
  })
})
