import type { Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { aFarEnd } from '../../../testing/src/proxy-harness.ts'
import { readProxies } from '../config/proxy-environment.ts'
import { openTunnel } from './open-tunnel.ts'

/** The result of a tunnel through this proxy: the first bytes read, or why it was not opened. */
async function through(serve: (socket: Socket) => void, maxMs: number): Promise<string> {
  const server = await aFarEnd(serve)
  onTestFinished(server.close)
  const proxy = readProxies({ ALL_PROXY: `http://127.0.0.1:${server.port}` }).of(new URL('http://far.test'))
  if (proxy === null) throw new Error('no proxy')
  return new Promise((resolve) => {
    openTunnel({ proxy, host: 'far.test', port: 22, maxMs }, (error, socket) => {
      if (error !== null) return resolve(error.message)
      socket?.on('data', (chunk) => {
        socket.destroy()
        resolve(String(chunk))
      })
      return undefined
    })
  })
}

test('data that the server sends first is received, also together with the answer of the proxy', async () => {
  const said = through((socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\nSSH-2.0-far'))
  }, 30_000)
  expect(await said).toBe('SSH-2.0-far')
})

test('a proxy that sends its answer byte by byte is not waited for longer than a silent one', async () => {
  const timers: ReturnType<typeof setInterval>[] = []
  onTestFinished(() => timers.forEach(clearInterval))
  const trickle = through((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nx: ')
    timers.push(setInterval(() => socket.write('a'), 20))
  }, 300)
  expect(await trickle).toContain('does not answer within 0.3 s: check that the proxy runs')
})

test.each([
  ['an endless head', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(64 * 1024)}`],
  ['no HTTP', 'SSH-2.0-OpenSSH\r\n'],
  ['an answer with a line break inside', 'HTTP/1.1 200 OK\r\nx: a\rb\r\n\r\n'],
])('%s is no tunnel', async (_title, answer) => {
  const refused = through((socket) => void socket.once('data', () => socket.write(answer)), 30_000)
  expect(await refused).toMatch(/^the proxy http:\/\/127\.0\.0\.1:\d+ does not answer \(HPE_/)
})
