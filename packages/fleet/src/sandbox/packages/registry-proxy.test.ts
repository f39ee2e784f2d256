import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { openRegistryProxy } from './registry-proxy.ts'

async function registry(): Promise<number> {
  const server = createServer((asked, reply) => reply.end(`served ${asked.url}`))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

async function openProxy(hosts: readonly string[]) {
  const parent = await mkdtemp(join(tmpdir(), 'flotilla-registries-'))
  const folder = join(parent, 'one')
  const proxy = await openRegistryProxy({ folder, hosts: new Set(hosts), proxies: { of: () => null } })
  onTestFinished(async () => {
    await proxy.close()
    await rm(parent, { recursive: true })
  })
  return { proxy, socketPath: join(folder, 'proxy.sock') }
}

async function get(socketPath: string, url: string, method = 'GET') {
  const asked = request({ socketPath, path: url, method })
  asked.end()
  const reply = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    asked.on('response', resolve).on('error', reject)
  })
  return { status: reply.statusCode, body: await text(reply) }
}

test('a registry is read, and every other destination and every write is refused', async () => {
  const port = await registry()
  const other = await registry()
  const { proxy, socketPath } = await openProxy([`127.0.0.1:${port}`])
  expect(await get(socketPath, `http://127.0.0.1:${port}/a?b=1`)).toEqual({
    status: 200,
    body: 'served /a?b=1',
  })
  expect((await get(socketPath, `http://127.0.0.1:${other}/a`)).status).toBe(403)
  expect((await get(socketPath, `http://127.0.0.1:${port}/a`, 'PUT')).status).toBe(403)
  expect((await get(socketPath, '/relative')).status).toBe(403)
  expect([...proxy.refused]).toEqual([`127.0.0.1:${other}`])
})

test('a tunnel reaches a registry alone', async () => {
  const port = await registry()
  const other = await registry()
  const { socketPath } = await openProxy([`127.0.0.1:${port}`])
  const answerTo = async (target: string) => {
    const socket = connect(socketPath)
    socket.end(`CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n\r\n`)
    return text(socket)
  }
  expect(await answerTo(`127.0.0.1:${other}`)).toMatch(/^HTTP\/1\.1 403 /)
  const socket = connect(socketPath)
  socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nhost: x\r\n\r\n`)
  const established = await new Promise<string>((resolve) => {
    socket.once('data', (bytes: Buffer) => resolve(bytes.toString()))
  })
  expect(established).toMatch(/^HTTP\/1\.1 200 /)
  socket.write('GET /through HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  expect(await text(socket)).toContain('served /through')
})

test('closing ends open tunnels and the socket', async () => {
  const port = await registry()
  const { proxy, socketPath } = await openProxy([`127.0.0.1:${port}`])
  const socket = connect(socketPath)
  socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nhost: x\r\n\r\n`)
  await new Promise((resolve) => socket.once('data', resolve))
  const ended = new Promise((resolve) => socket.once('close', resolve))
  await proxy.close()
  await proxy.close()
  await ended
  await expect(get(socketPath, `http://127.0.0.1:${port}/`)).rejects.toThrow(/ENOENT|ECONNREFUSED/)
})
