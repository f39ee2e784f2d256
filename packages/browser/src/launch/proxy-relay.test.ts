import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { nowhere, startProxyRelay } from './proxy-relay.ts'
import type { ProxyRelay } from './proxy-relay.ts'

describe('the relay to the mesh', () => {
  const seen: string[] = []
  let answer = 200
  const proxy = createServer((incoming, response) => {
    seen.push(`${incoming.method} ${incoming.url} ${String(incoming.headers['proxy-authorization'])}`)
    response.writeHead(answer, answer === 407 ? { 'x-said': 'who' } : {}).end('told')
  }).on('connect', (incoming, client) => {
    seen.push(`CONNECT ${incoming.url} ${String(incoming.headers['proxy-authorization'])}`)
    client.write(answer === 407 ? 'HTTP/1.1 407 Who\r\n\r\n' : 'HTTP/1.1 200 OK\r\n\r\nfirst ')
    client.on('error', () => undefined).pipe(client)
  })
  const proof = `Basic ${Buffer.from('browser:the-token').toString('base64')}`
  let relay: ProxyRelay
  beforeEach(async () => {
    seen.length = 0
    answer = 200
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const { port } = proxy.address() as AddressInfo
    relay = await startProxyRelay({ proxy: { host: '127.0.0.1', port }, token: 'the-token' })
  })
  afterEach(async () => {
    await relay.close()
    proxy.closeAllConnections()
    await new Promise((resolve) => proxy.close(resolve))
  })

  const get = (url: string, headers = {}) =>
    new Promise<string>((resolve, reject) => {
      request({ host: '127.0.0.1', port: relay.port, path: url, headers }, (response) => {
        response.on('data', (bytes: Buffer) => resolve(`${response.statusCode} ${bytes.toString()}`))
        response.on('end', () => resolve(String(response.statusCode)))
      })
        .on('error', reject)
        .end()
    })
  const tunnel = (target: string) =>
    new Promise<string>((resolve) => {
      const socket = connect(relay.port, '127.0.0.1')
      let said = ''
      socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`)
      socket.on('data', (bytes: Buffer) => {
        said += bytes.toString()
        if (said.includes('first ')) socket.write('echo')
        if (/echo|502/.test(said)) socket.destroy()
      })
      socket.on('close', () => resolve(said))
    })

  test('the relay to the mesh proves who it is with each call, and whatever a page said of it is gone', async () => {
    expect(await get('http://shop.test/a', { 'proxy-authorization': 'Basic mine' })).toBe('200 told')
    expect(seen).toEqual([`GET http://shop.test/a ${proof}`])
  })

  test('the relay to the mesh opens tunnels, and nothing that came with the answer is lost', async () => {
    expect(await tunnel('shop.test:443')).toBe('HTTP/1.1 200 OK\r\n\r\nfirst echo')
    expect(seen).toEqual([`CONNECT shop.test:443 ${proof}`])
  })

  test('the relay to the mesh shows no password prompt if the mesh refuses its own token', async () => {
    answer = 407
    expect(await get('http://shop.test/a')).toMatch(/^502/)
    expect(await tunnel('shop.test:443')).toMatch(/^HTTP\/1\.1 502 Refused/)
  })

  test('the relay to the mesh lets nothing out that was sent nowhere', async () => {
    expect(await get(`http://${nowhere}/x`)).toBe('502')
    expect(await tunnel(`${nowhere}:443`)).toMatch(/^HTTP\/1\.1 502/)
    expect(seen).toEqual([])
  })
})
