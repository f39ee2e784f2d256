import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import { Agent } from 'node:https'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { Problem } from '@flotilla/protocol/problem'
import { eventually } from '../../../../../tests/support/eventually.ts'
import { anAuthority, anInspectingProxy, aTlsSite } from '../../../../testing/src/inspection-harness.ts'
import { proxyAuthorization } from '../../../../testing/src/proxy-harness.ts'
import type { InspectedServerDeps } from './inspected-server.ts'

const running: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of running.splice(0).toReversed()) await one.close()
})

const host = 'code.test'

/** A site, and a proxy that inspects its host. */
async function aPair(
  answer: RequestListener = (_request, response) => void response.end('an answer'),
  options: { readonly hosts?: readonly string[]; readonly takeTurn?: InspectedServerDeps['takeTurn'] } = {},
) {
  const outside = await anAuthority('outside')
  const requests: IncomingMessage[] = []
  const site = await aTlsSite(outside, host, (request, response) => {
    requests.push(request)
    answer(request, response)
  })
  const proxy = await anInspectingProxy({ hosts: [host], outside, ports: [site.port, 80, 443], ...options })
  running.push(site, proxy)
  const target = `${host}:${site.port}`
  const get = (line: string, more = '') =>
    proxy.send(target, `${line} HTTP/1.1\r\nHost: ${target}\r\n${more}Connection: close\r\n\r\n`)
  return { outside, site, proxy, requests, target, get }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

describe('an inspected connection', () => {
  test('a program gets the answer of the host under a certificate of the fleet', async () => {
    const { proxy, target, requests } = await aPair()
    const client = await proxy.open(target)
    expect(client.getPeerCertificate().issuer).toMatchObject({ CN: 'a fleet' })
    expect(client.alpnProtocol).toBe(false)
    client.destroy()
    const answer = await proxy.send(
      target,
      `GET /a?b=1 HTTP/1.1\r\nHost: ${target}\r\nX-Own: kept\r\nProxy-Authorization: Basic eA==\r\nConnection: close\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(answer).toContain('an answer')
    expect(requests[0]?.url).toBe('/a?b=1')
    expect(requests[0]?.headers).toMatchObject({ host: target, 'x-own': 'kept', via: '1.1 flotilla' })
    expect(requests[0]?.headers['proxy-authorization']).toBeUndefined()
  })

  test('a host that the owner did not name stays a tunnel with its own certificate', async () => {
    const { proxy, target, outside } = await aPair(undefined, { hosts: ['another.test'] })
    const client = await proxy.open(target, { ca: outside.certificate })
    expect(client.getPeerCertificate().issuer).toMatchObject({ CN: 'outside' })
    expect(proxy.decided).toEqual([])
  })

  test('requests one after the other share one connection to the server, and each is decided', async () => {
    const { proxy, target, site } = await aPair()
    const client = await proxy.open(target)
    let seen = ''
    client.on('data', (chunk: Buffer) => (seen += chunk.toString()))
    for (const path of ['/one', '/two', '/three']) {
      client.write(`GET ${path} HTTP/1.1\r\nHost: ${target}\r\n\r\n`)
      const before = seen.split('an answer').length
      await eventually('an answer', async () => seen.split('an answer').length > before)
    }
    expect(proxy.decided.map(({ path }) => path)).toEqual(['/one', '/two', '/three'])
    expect(site.connections).toHaveLength(1)
  })

  test('a refused second request does not reach the server, on a connection whose first was allowed', async () => {
    const { proxy, target, requests } = await aPair(undefined, {
      takeTurn: (_connection, { path }) => {
        if (path === '/refused') throw new Problem('denied', { detail: 'a rule' })
        return {
          fill: (headers) => ({ headers }),
          fillWebSocket: (headers) => headers,
          fillApproved: (headers) => headers,
          answer: { headers: (raw) => raw, body: () => null },
          settled: () => {},
        }
      },
    })
    const client = await proxy.open(target)
    let seen = ''
    client.on('data', (chunk: Buffer) => (seen += chunk.toString()))
    client.write(`GET /allowed HTTP/1.1\r\nHost: ${target}\r\n\r\n`)
    await eventually('the first answer', async () => seen.includes('an answer'))
    client.write(`GET /refused HTTP/1.1\r\nHost: ${target}\r\n\r\n`)
    await new Promise((resolve) => client.once('close', resolve))
    expect(seen).toMatch(/HTTP\/1\.1 403 [\s\S]*"code":"denied"/)
    expect(requests.map(({ url }) => url)).toEqual(['/allowed'])
  })

  test('uploads and downloads of many megabytes pass unchanged, with and without a length', async () => {
    const sent = randomBytes(5 * 1024 * 1024)
    const { proxy, target } = await aPair((request, response) => {
      request.pipe(response.writeHead(200, { 'content-type': 'application/octet-stream' }))
    })
    for (const framing of ['length', 'chunked']) {
      const client = await proxy.open(target)
      const head = `POST /echo HTTP/1.1\r\nHost: ${target}\r\nConnection: close\r\n`
      if (framing === 'length') {
        client.write(`${head}Content-Length: ${sent.length}\r\n\r\n`)
        client.write(sent)
      } else {
        client.write(`${head}Transfer-Encoding: chunked\r\n\r\n${sent.length.toString(16)}\r\n`)
        client.write(sent)
        client.write('\r\n0\r\n\r\n')
      }
      const chunks: Buffer[] = []
      client.on('data', (chunk: Buffer) => chunks.push(chunk))
      await new Promise((resolve) => client.once('close', resolve))
      const answer = Buffer.concat(chunks)
      expect(answer.toString('latin1', 0, 15)).toBe('HTTP/1.1 200 OK')
      expect(unchunked(answer.subarray(answer.indexOf('\r\n\r\n') + 4)).equals(sent), framing).toBe(true)
    }
  })

  test('headers that occur twice pass in both directions', async () => {
    const { get, requests } = await aPair((_request, response) => {
      response.writeHead(200, { 'set-cookie': ['a=1', 'b=2'] }).end()
    })
    const answer = await get('GET /', 'X-Two: a\r\nX-Two: b\r\n')
    expect(answer.match(/set-cookie: [ab]=/gi)).toHaveLength(2)
    expect(requests[0]?.headers['x-two']).toBe('a, b')
  })

  test('the end of the run, of the token or of the mesh closes the connection', async () => {
    const { proxy, target } = await aPair()
    const client = await proxy.open(target)
    const closed = new Promise((resolve) => client.once('close', resolve))
    expect(proxy.openTunnels()).toBe(1)
    proxy.working.delete('scout')
    await closed
    await eventually('the place is free', async () => proxy.openTunnels() === 0)
  })

  test('bytes of an inspected connection are counted for its host', async () => {
    const { proxy, get } = await aPair((_request, response) => response.end(Buffer.alloc(100_000)))
    await get('GET /')
    await eventually('closed', async () => proxy.openTunnels() === 0)
    const [row] = proxy.counts.list(1)
    expect(row).toMatchObject({ agentId: 'scout', host, connections: 1, refused: 0 })
    expect(row?.bytesIn).toBeGreaterThan(100_000)
  })
})

describe('attacks on an inspected connection', () => {
  test('TLS for another name than that of the connection fails, and is reported', async () => {
    const { proxy, target, requests } = await aPair()
    await expect(proxy.open(target, { servername: 'evil.test' })).rejects.toThrow(
      /handshake failed|disconnected|ECONNRESET/,
    )
    await eventually('it is reported', async () => proxy.failures.length > 0)
    expect(proxy.failures).toEqual([{ host, why: 'wrong-name' }])
    expect(requests).toEqual([])
  })

  test.each<readonly [string, (at: string) => string, string]>([
    ['another host', (at: string) => `GET / HTTP/1.1\r\nHost: evil.test${at}\r\n\r\n`, 'destination-refused'],
    ['another port', () => `GET / HTTP/1.1\r\nHost: code.test:1\r\n\r\n`, 'destination-refused'],
    ['no port', () => `GET / HTTP/1.1\r\nHost: code.test\r\n\r\n`, 'destination-refused'],
    [
      'a user before the host',
      (at: string) => `GET / HTTP/1.1\r\nHost: code.test${at}@evil.test\r\n\r\n`,
      'destination-refused',
    ],
    [
      'an address in absolute form',
      (at: string) => `GET https://evil.test/ HTTP/1.1\r\nHost: code.test${at}\r\n\r\n`,
      'bad-request',
    ],
    [
      'its own address in absolute form',
      (at: string) => `GET https://code.test${at}/ HTTP/1.1\r\nHost: code.test${at}\r\n\r\n`,
      'bad-request',
    ],
    ['TRACE', (at: string) => `TRACE / HTTP/1.1\r\nHost: code.test${at}\r\n\r\n`, 'bad-request'],
    [
      'a tunnel inside',
      (at: string) => `CONNECT evil.test:443 HTTP/1.1\r\nHost: code.test${at}\r\n\r\n`,
      'bad-request',
    ],
    [
      'another protocol',
      (at: string) => `GET / HTTP/1.1\r\nHost: code.test${at}\r\nConnection: upgrade\r\nUpgrade: raw\r\n\r\n`,
      'bad-request',
    ],
    [
      'a WebSocket by another method',
      (at: string) =>
        `POST / HTTP/1.1\r\nHost: code.test${at}\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n`,
      'bad-request',
    ],
    [
      'a WebSocket with a body',
      (at: string) =>
        `GET / HTTP/1.1\r\nHost: code.test${at}\r\nConnection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 3\r\n\r\nabc`,
      'bad-request',
    ],
    [
      'a WebSocket of another host',
      (at: string) =>
        `GET / HTTP/1.1\r\nHost: evil.test${at}\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n`,
      'destination-refused',
    ],
    [
      'a length and chunks',
      (at: string) =>
        `POST / HTTP/1.1\r\nHost: code.test${at}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n`,
      'bad-request',
    ],
    [
      'two lengths',
      (at: string) =>
        `POST / HTTP/1.1\r\nHost: code.test${at}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
      'bad-request',
    ],
    [
      'another transfer encoding',
      (at: string) =>
        `POST / HTTP/1.1\r\nHost: code.test${at}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
      'bad-request',
    ],
    [
      'a hidden transfer encoding',
      (at: string) =>
        `POST / HTTP/1.1\r\nHost: code.test${at}\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
      'bad-request',
    ],
    [
      'a folded header',
      (at: string) => `GET / HTTP/1.1\r\nHost: code.test${at}\r\nX-A: b\r\n c: d\r\n\r\n`,
      'bad-request',
    ],
    [
      'a line end inside a header',
      (at: string) => `GET / HTTP/1.1\r\nHost: code.test${at}\r\nX-A: b\rX-B: c\r\n\r\n`,
      'bad-request',
    ],
    [
      'two hosts',
      (at: string) => `GET / HTTP/1.1\r\nHost: code.test${at}\r\nHost: evil.test\r\n\r\n`,
      'bad-request',
    ],
    ...[
      'Transfer-Encoding: chunked, identity',
      'Transfer-Encoding: identity',
      'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
      'Transfer-Encoding: \x0bchunked',
      'Transfer-Encoding:\n chunked',
      'Content-Length: 5, 5',
      'Content-Length: +5',
      'Content-Length: 0x5',
      'Content-Length: 5 5',
      'X-A\0: b',
      'X-A: b\0c',
      ' X-A: b',
    ].map(
      (header) =>
        [
          JSON.stringify(header),
          (at: string) => `POST / HTTP/1.1\r\nHost: code.test${at}\r\n${header}\r\n\r\n0\r\n\r\n`,
          'bad-request',
        ] as const,
    ),
    ['a version without headers', () => 'GET /\r\n\r\n', 'bad-request'],
    [
      'chunks in HTTP/1.0',
      (at: string) =>
        `POST / HTTP/1.0\r\nHost: code.test${at}\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`,
      'bad-request',
    ],
    [
      'a method in small letters',
      (at: string) => `delete / HTTP/1.1\r\nHost: code.test${at}\r\n\r\n`,
      'bad-request',
    ],
    [
      'a path in backslashes',
      (at: string) => `GET \\admin HTTP/1.1\r\nHost: code.test${at}\r\n\r\n`,
      'bad-request',
    ],
    [
      'a host with a path',
      (at: string) => `GET / HTTP/1.1\r\nHost: code.test${at}/evil\r\n\r\n`,
      'destination-refused',
    ],
    [
      'a host in other digits',
      () => 'GET / HTTP/1.1\r\nHost: ｃｏｄｅ.test.evil\r\n\r\n',
      'destination-refused',
    ],
    [
      'a host below it',
      (at: string) => `GET / HTTP/1.1\r\nHost: a.code.test${at}\r\n\r\n`,
      'destination-refused',
    ],
    ['a port with a sign', () => 'GET / HTTP/1.1\r\nHost: code.test:+443\r\n\r\n', 'destination-refused'],
    [
      'an address above the maximum',
      (at: string) => `GET /${'a'.repeat(9000)} HTTP/1.1\r\nHost: code.test${at}\r\n\r\n`,
      'bad-request',
    ],
    ['no host', () => 'GET / HTTP/1.1\r\n\r\n', 'bad-request'],
    ['HTTP/2 without negotiation', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'bad-request'],
  ])('%s is refused, and nothing reaches the server', async (_what, textOf, code) => {
    const { proxy, site, target, requests } = await aPair()
    const answer = await proxy.send(target, textOf(`:${site.port}`))
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /)
    if (answer.includes('problem+json')) expect(answer).toContain(`"code":"${code}"`)
    expect(requests).toEqual([])
  })

  test('a request that is sent before the answer of the last one ends the connection', async () => {
    const { proxy, target, requests } = await aPair()
    const one = `GET /a HTTP/1.1\r\nHost: ${target}\r\n\r\n`
    await proxy.send(target, one.repeat(3))
    expect(requests.length).toBeLessThanOrEqual(1)
  })

  test.each(['CODE.Test', 'code.test.'])('the host written as %s is that of the connection', async (name) => {
    const { proxy, site, target, requests } = await aPair()
    await proxy.send(target, `GET / HTTP/1.1\r\nHost: ${name}:${site.port}\r\nConnection: close\r\n\r\n`)
    for (const { headers } of requests) expect(headers.host).toBe(target)
  })

  test.each(['TLSv1', 'TLSv1.1'] as const)(
    'a client of %s gets nothing to the server',
    async (maxVersion) => {
      const { proxy, target, requests } = await aPair()
      await expect(
        proxy.open(target, { minVersion: 'TLSv1', maxVersion, ciphers: 'DEFAULT@SECLEVEL=0' }),
      ).rejects.toThrow(Error)
      expect(requests).toEqual([])
    },
  )

  test('a client without a name in TLS, or with an address, gets nothing of another host', async () => {
    const { proxy, target, requests } = await aPair()
    const client = await proxy.open(target, { servername: '' }).catch(() => null)
    client?.write('GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n')
    client?.destroy()
    expect(requests).toEqual([])
  })

  test('bytes behind a chunked body are no second request', async () => {
    const { proxy, target, requests } = await aPair()
    const body = '5;a="b"\r\nhello\r\n0\r\nX-T: a\r\n\r\n'
    const head = `POST /a HTTP/1.1\r\nHost: ${target}\r\nTransfer-Encoding: chunked\r\n\r\n`
    await proxy.send(target, `${head}${body}GET /smuggled HTTP/1.1\r\nHost: ${target}\r\n\r\n`)
    expect(requests.filter(({ url }) => url === '/smuggled')).toEqual([])
  })

  test('a client that offers HTTP/2 and HTTP/1.1 gets HTTP/1.1', async () => {
    const { proxy, target } = await aPair()
    const client = await proxy.open(target, { ALPNProtocols: ['h2', 'http/1.1'] })
    expect(client.alpnProtocol).toBe('http/1.1')
  })

  test('a server without a valid certificate is refused before the client begins TLS', async () => {
    const { proxy, site, requests } = await aPair()
    // The certificate of the site names code.test.
    const other = await anInspectingProxy({
      hosts: ['other.test'],
      outside: await anAuthority('outside'),
      ports: [site.port],
    })
    running.push(other)
    const answer = await other.raw(
      `CONNECT other.test:${site.port} HTTP/1.1\r\n${proxyAuthorization('scout-program')}\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 502 /)
    expect(answer).toContain('the TLS handshake with other.test failed')
    expect(proxy.failures).toEqual([])
    expect(requests).toEqual([])
  })

  test('the authority of another fleet is not trusted by a program of this one', async () => {
    const { proxy, target } = await aPair()
    const another = await anAuthority('a fleet')
    await expect(proxy.open(target, { ca: another.certificate })).rejects.toThrow(/certificate/)
  })

  test('a client that does not trust the authority is recognized by its alert', async () => {
    const { proxy, target } = await aPair()
    await new Promise<void>((resolve) => {
      const given = [
        '-proxy',
        `127.0.0.1:${proxy.port}`,
        '-proxy_user',
        'scout',
        '-proxy_pass',
        'pass:scout-program',
      ]
      execFile(
        'openssl',
        ['s_client', ...given, '-connect', target, '-servername', host, '-verify_return_error'],
        () => resolve(),
      ).stdin?.end()
    })
    await eventually('it is reported', async () => proxy.failures.length > 0)
    expect(proxy.failures).toEqual([{ host, why: 'untrusted' }])
  })

  test('a client that completes TLS and leaves without a request is reported, and one with a request is not', async () => {
    const { proxy, target, get } = await aPair()
    const client = await proxy.open(target)
    client.end()
    await eventually('it is reported', async () => proxy.failures.length > 0)
    expect(proxy.failures).toEqual([{ host, why: 'unused' }])
    expect(proxy.served).toEqual([])
    await get('GET /')
    await eventually('closed', async () => proxy.openTunnels() === 0)
    expect(proxy.failures).toHaveLength(1)
    expect(proxy.served).toEqual([host])
  })

  test('plain HTTP to an inspected host is refused', async () => {
    const { proxy, target, requests } = await aPair()
    const { socket } = await proxy.tunnel(target)
    socket.write(`GET / HTTP/1.1\r\nHost: ${target}\r\n\r\n`)
    await new Promise((resolve) => socket.resume().once('end', resolve))
    await eventually('it is reported', async () => proxy.failures.length > 0)
    expect(requests).toEqual([])
    expect(proxy.failures).toEqual([{ host, why: 'no-tls' }])
  })
})

test('an answer that the server breaks off does not look complete', async () => {
  const { get } = await aPair((_request, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('half')
    setImmediate(() => response.destroy())
  })
  expect(await get('GET /')).not.toMatch(/half[\s\S]{96}$/)
})

test('an upload is read by the server while it is sent', async () => {
  const { proxy, target } = await aPair((request, response) => {
    request.once('data', () => response.end('enough'))
  })
  const client = await proxy.open(target)
  client.write(`POST / HTTP/1.1\r\nHost: ${target}\r\nContent-Length: 1000000\r\n\r\nbegin`)
  const [first] = (await new Promise<unknown[]>((resolve) =>
    client.once('data', (...given) => resolve(given)),
  )) as [Buffer]
  expect(first.toString()).toMatch(/^HTTP\/1\.1 200/)
})

test('the body of a request arrives as it was sent', async () => {
  const bodies: string[] = []
  const { proxy, target } = await aPair((request, response) => {
    void bodyOf(request).then((body) => {
      bodies.push(body.toString())
      response.end()
    })
  })
  const head = `POST / HTTP/1.1\r\nHost: ${target}\r\nConnection: close\r\n`
  await proxy.send(target, `${head}Content-Length: 5\r\n\r\nhello`)
  await proxy.send(target, `${head}Content-Length: 0\r\n\r\n`)
  expect(bodies).toEqual(['hello', ''])
})

/** Joins the chunks of a chunked body; a body of another form is returned as it is. */
function unchunked(body: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; ;) {
    const end = body.indexOf('\r\n', at)
    const size = Number.parseInt(body.toString('latin1', at, end), 16)
    if (size === 0 || Number.isNaN(size) || end === -1) break
    parts.push(body.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
  return Buffer.concat(parts)
}

describe('a WebSocket to an inspected host', () => {
  /** A server that returns each message, and a client of `ws` behind the proxy. */
  async function openSocket(takeTurn?: InspectedServerDeps['takeTurn']) {
    const pair = await aPair(undefined, takeTurn === undefined ? {} : { takeTurn })
    const server = new WebSocketServer({ server: pair.site.server })
    server.on('connection', (socket, request) => {
      socket.send(`opened ${request.url} ${String(request.headers['x-key'])}`)
      socket.on('message', (message: Buffer) => socket.send(message))
    })
    const connection = await pair.proxy.open(pair.target)
    const agent = Object.assign(new Agent(), { createConnection: () => connection })
    const headers = { 'x-key': 'a placeholder' }
    const client = new WebSocket(`wss://${pair.target}/live?a=b`, { agent, headers })
    const messages: string[] = []
    client.on('message', (message: Buffer) => messages.push(message.toString()))
    return { ...pair, client, connection, messages }
  }

  test('messages go both ways after the request was decided, and traffic is counted', async () => {
    const { client, proxy, messages } = await openSocket()
    await once(client, 'open')
    const large = 'x'.repeat(300_000)
    client.send('hello')
    client.send(large)
    await eventually('both answers', async () => messages.length === 3)
    expect(messages).toEqual(['opened /live?a=b a placeholder', 'hello', large])
    expect(proxy.decided).toEqual([{ method: 'GET', path: '/live?a=b' }])
    client.close()
    await once(client, 'close')
    await eventually('no open tunnel', async () => proxy.openTunnels() === 0)
  })

  test('all of many small messages arrive, though later ones wait', async () => {
    const { client, messages } = await openSocket()
    await once(client, 'open')
    for (let at = 0; at < 2300; at++) client.send(`${at}`)
    await eventually('all answers', async () => messages.length === 2301)
    expect(messages.at(-1)).toBe('2299')
    client.close()
    await once(client, 'close')
  })

  test('the request leaves with the headers of its turn, or not at all', async () => {
    const turn = (fillWebSocket: (headers: readonly string[]) => readonly string[]) => () => ({
      fill: (headers: readonly string[]) => ({ headers }),
      fillWebSocket,
      fillApproved: (headers: readonly string[]) => headers,
      answer: { headers: (raw: readonly string[]) => raw, body: () => null },
      settled: () => {},
    })
    const filled = await openSocket(
      turn((headers) => headers.map((one) => one.replace('a placeholder', 'a value'))),
    )
    await eventually('the first message', async () => filled.messages.length === 1)
    expect(filled.messages).toEqual(['opened /live?a=b a value'])
    const refused = await openSocket(
      turn(() => {
        throw new Problem('policy-denied', { detail: 'no rule' })
      }),
    )
    const [error] = (await once(refused.client, 'error')) as [Error]
    expect(error.message).toContain('403')
    expect(refused.requests).toEqual([])
  })

  test('a server that opens none is reported', async () => {
    const { proxy, target } = await aPair()
    const answer = await proxy.send(
      target,
      `GET / HTTP/1.1\r\nHost: ${target}\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 502 /)
    expect(answer).toContain('did not open a WebSocket')
  })

  test('the end of the agent’s tunnels ends it', async () => {
    const { client, proxy } = await openSocket()
    await once(client, 'open')
    const closed = once(client, 'close')
    proxy.cutAgent('scout')
    await closed
    expect(client.readyState).toBe(WebSocket.CLOSED)
  })
})
