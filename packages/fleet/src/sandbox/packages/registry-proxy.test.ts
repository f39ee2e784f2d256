import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { IncomingMessage, RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { openRegistryProxy } from './registry-proxy.ts'
import { createRegistryTable } from './registry-table.ts'
import type { RegistryKind, RegistryTable } from './registry-table.ts'

const echo: RequestListener = (asked, reply) =>
  reply.end(`served ${asked.url} ${asked.headers.authorization ?? 'without credentials'}`)

/** Starts a registry; returns its address as `host:port`. */
async function registry(listener: RequestListener = echo): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function openProxy(registries: readonly (readonly [RegistryKind, string])[]) {
  const parent = await mkdtemp(join(tmpdir(), 'flotilla-registries-'))
  const folder = join(parent, 'one')
  const table: RegistryTable = createRegistryTable()
  for (const [kind, address] of registries) table.add(kind, address)
  const proxy = await openRegistryProxy({ folder, registries: table, proxies: { of: () => null } })
  onTestFinished(async () => {
    await proxy.close()
    await rm(parent, { recursive: true })
  })
  return { proxy, table, socketPath: join(folder, 'proxy.sock') }
}

type Asked = {
  readonly host?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

async function get(socketPath: string, path: string, { host = '127.77.0.1:3128', ...how }: Asked = {}) {
  const asked = request({ socketPath, path, method: how.method ?? 'GET', headers: { ...how.headers, host } })
  asked.end()
  const reply = await new Promise<IncomingMessage>((resolve, reject) => {
    asked.on('response', resolve).on('error', reject)
  })
  return { status: reply.statusCode, headers: reply.headers, body: await text(reply) }
}

/** Sends bytes as they are; returns all that the proxy answers until it closes the connection. */
async function raw(socketPath: string, bytes: string): Promise<string> {
  const socket = connect(socketPath)
  socket.end(bytes)
  return text(socket).catch(() => '')
}

test('a registry is read below its folder, and every other path, host and method is refused', async () => {
  const host = await registry()
  const { proxy, socketPath } = await openProxy([['npm', `http://${host}/npm/`]])
  expect(await get(socketPath, '/npm/semver?b=1')).toMatchObject({
    status: 200,
    body: 'served /npm/semver?b=1 without credentials',
  })
  expect((await get(socketPath, '/files/semver.tgz')).status).toBe(200)
  for (const path of ['/group/repo.git/info/refs', '/npm/../x', '/npm/..%2fx', '/npm/%2e%2e/x', '/npm/%zz'])
    expect([path, (await get(socketPath, path)).status]).toEqual([path, 403])
  expect((await get(socketPath, '/npm/semver', { method: 'PUT' })).status).toBe(403)
  expect((await get(socketPath, '/npm/semver', { host: '127.77.0.2:3128' })).status).toBe(403)
  expect((await get(socketPath, 'http://other.test/pkg.whl')).status).toBe(403)
  expect(proxy.refused).toContain('other.test:80')
})

test('a tunnel is refused, also to the host of a registry', async () => {
  const host = await registry()
  const { proxy, socketPath } = await openProxy([['npm', `http://${host}/`]])
  expect(await raw(socketPath, `CONNECT ${host} HTTP/1.1\r\nhost: ${host}\r\n\r\n`)).toMatch(
    /^HTTP\/1\.1 403 /,
  )
  expect(proxy.refused).toContain(host)
})

test('the mesh adds the credential of the longest fitting address, and a program cannot choose one', async () => {
  const host = await registry()
  const { table, socketPath } = await openProxy([
    ['npm', `http://${host}/npm/`],
    ['pip', `http://ann:p%40w@${host}/pip/simple`],
  ])
  table.addCredential({ prefix: `//${host}/npm/`, authorization: 'Bearer all' })
  table.addCredential({ prefix: `//${host}/npm/@corp/`, authorization: 'Bearer corp' })
  const served = async (path: string, headers = {}) => (await get(socketPath, path, { headers })).body
  expect(await served('/npm/x', { authorization: 'Bearer own', cookie: 'a=b' })).toBe(
    'served /npm/x Bearer all',
  )
  expect(await served('/npm/@corp/x')).toBe('served /npm/@corp/x Bearer corp')
  const basic = `Basic ${Buffer.from('ann:p@w').toString('base64')}`
  expect(await served('/pip/simple/x/')).toBe(`served /pip/simple/x/ ${basic}`)
  expect(await served('/pip/files/x.whl')).toBe(`served /pip/files/x.whl ${basic}`)
})

test('addresses in pages and redirects of an index lead to the loopback addresses', async () => {
  const files = await registry()
  const host = await registry((asked, reply) => {
    if (asked.url === '/simple/moved/')
      return reply.writeHead(302, { location: `http://${files}/packages/a.whl` }).end()
    if (asked.url === '/simple/away/')
      return reply.writeHead(302, { location: 'http://other.test/a.whl' }).end()
    return reply
      .writeHead(200, { 'content-type': 'text/html' })
      .end(`<a href="http://${files}/packages/a.whl#sha256=0">`)
  })
  const { proxy, socketPath } = await openProxy([
    ['pip', `http://${host}/simple`],
    ['pip', `http://${files}/packages/`],
  ])
  expect((await get(socketPath, '/simple/a/')).body).toBe(
    '<a href="http://127.77.0.2:3128/packages/a.whl#sha256=0">',
  )
  expect((await get(socketPath, '/simple/moved/')).headers.location).toBe(
    'http://127.77.0.2:3128/packages/a.whl',
  )
  expect((await get(socketPath, '/simple/away/')).status).toBe(403)
  expect(proxy.refused).toContain('other.test:80')
})

test('broken requests and answers end their own connection, and the proxy serves on', async () => {
  const host = await registry((asked, reply) => {
    if (asked.url === '/reset') return asked.socket.resetAndDestroy()
    if (asked.url === '/half') {
      reply.writeHead(200, { 'content-length': '100' })
      return reply.write('half', () => asked.socket.destroy())
    }
    if (asked.url === '/status') return asked.socket.end('HTTP/1.1 999 Odd\r\nx: y\r\n\r\n')
    if (asked.url === '/garbage') return asked.socket.end('garbage\r\n\r\n')
    if (asked.url === '/upgrade')
      return asked.socket.end('HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
    return reply.end('served')
  })
  const closed = await registry()
  const { proxy, socketPath } = await openProxy([
    ['npm', `http://${host}/`],
    ['npm', 'http://127.0.0.1:1/'],
  ])
  expect((await get(socketPath, '/reset')).status).toBe(502)
  await expect(get(socketPath, '/half')).rejects.toThrow('aborted')
  expect((await get(socketPath, '/garbage')).status).toBe(502)
  expect((await get(socketPath, '/x', { host: '127.77.0.2:3128' })).status).toBe(502)
  await get(socketPath, '/status').catch(() => undefined)
  for (const bytes of [
    'GET http://[ HTTP/1.1\r\nhost: 127.77.0.1:3128\r\n\r\n',
    'GET //// HTTP/1.1\r\nhost: 127.77.0.1:3128\r\n\r\n',
    'GET / HTTP/1.1\r\nhost: x\u0001\r\n\r\n',
    'GET / HTTP/1.1\r\nno header\r\n\r\n',
    `GET /${'x'.repeat(100_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
    'CONNECT :::: HTTP/1.1\r\nhost: x\r\n\r\n',
    `GET / HTTP/1.1\r\nhost: ${closed}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`,
    '\u0000\u0000\u0000',
  ])
    await raw(socketPath, bytes)
  // A client that goes away before, while and after the registry answers.
  for (const path of ['/slow', '/half']) {
    const socket = connect(socketPath)
    socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.77.0.1:3128\r\n\r\n`, () => socket.destroy())
    await new Promise((resolve) => socket.once('close', resolve))
  }
  const tunnel = connect(socketPath)
  tunnel.write(`CONNECT ${host} HTTP/1.1\r\nhost: x\r\n\r\n`, () => tunnel.destroy())
  await new Promise((resolve) => tunnel.once('close', resolve))
  expect((await get(socketPath, '/good')).body).toBe('served')
  expect([...proxy.unreachable]).toContainEqual(expect.stringMatching(/^http:\/\/127\.0\.0\.1:1: /))
})

test('closing ends open requests and the socket', async () => {
  const arrived = Promise.withResolvers<void>()
  const host = await registry(() => arrived.resolve())
  const { proxy, socketPath } = await openProxy([['npm', `http://${host}/`]])
  const waiting = get(socketPath, '/waits').catch((error: unknown) => error)
  await arrived.promise
  await proxy.close()
  await proxy.close()
  expect(await waiting).toBeInstanceOf(Error)
  await expect(get(socketPath, '/')).rejects.toThrow(/ENOENT|ECONNREFUSED/)
})
