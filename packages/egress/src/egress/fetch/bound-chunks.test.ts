import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { aProxy, proxyAuthorization } from '../../../../testing/src/proxy-harness.ts'
import { noProxies } from '../../../../foundation/src/config/index.ts'
import { createPinnedFetch } from './pinned-fetch.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** A website whose body has so many chunks of so many bytes. */
async function aSite(count: number, size: number): Promise<number> {
  const chunk = `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`
  const answer = `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n${chunk.repeat(count)}0\r\n\r\n`
  const server = createServer((socket: Socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => new Promise((resolve) => server.close(resolve)))
  return (server.address() as AddressInfo).port
}

async function fetched(port: number): Promise<number> {
  const fetch = createPinnedFetch({
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    isAllowed: () => true,
    allowedPorts: [port],
    proxies: noProxies,
  })
  const reply = await fetch(
    { url: new URL(`http://site.test:${port}/`), method: 'GET', headers: {}, body: '' },
    new AbortController().signal,
  )
  let bytes = 0
  for await (const chunk of reply.body) bytes += chunk.length
  await reply.close()
  return bytes
}

test('an answer in chunks of one byte fails with the reason', async () => {
  await expect(fetched(await aSite(10_000, 1))).rejects.toMatchObject({
    code: 'upstream-failed',
    detail: expect.stringMatching(/in tiny chunks: \d+ bytes in 4\d\d\d chunks/),
  })
})

test.each([
  [4000, 1],
  [30_000, 16],
  [10, 60_000],
])('an answer of %d chunks of %d bytes is read', async (count, size) => {
  expect(await fetched(await aSite(count, size))).toBe(count * size)
})

test('the forward proxy ends such an answer, and passes on others', async () => {
  for (const [count, size, isWhole] of [
    [10_000, 1, false],
    [30_000, 16, true],
  ] as const) {
    const port = await aSite(count, size)
    const mesh = await aProxy({ ports: [port] })
    closing.push(mesh.close)
    const answer = await mesh.raw(
      `GET http://site.test:${port}/ HTTP/1.1\r\nHost: site.test\r\nConnection: close\r\n${proxyAuthorization('scout-program')}\r\n\r\n`,
    )
    expect(answer.endsWith('0\r\n\r\n')).toBe(isWhole)
  }
})
