import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { noProxies } from '../../../../foundation/src/config/index.ts'
import { downloadBounded } from './bounded-download.ts'
import { createPlatformHttp } from './platform-http.ts'
import { postSigned } from './webhook/post-signed.ts'

const maxMs = 200
const stepMs = 10

/**
 * Starts a server that answers one byte at a time without an end, so that no pause is as long as the silence limit.
 */
async function aTrickle(status: number): Promise<URL> {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(status)
    const dropping = setInterval(() => response.write('x'), stepMs)
    response.on('close', () => clearInterval(dropping))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/file`)
}

const unended = new AbortController().signal

test('a call to a platform ends at its bound, although the answer never falls silent', async () => {
  const http = createPlatformHttp(noProxies, maxMs)
  onTestFinished(() => http.close())
  const url = await aTrickle(200)
  const call = { method: 'GET', url, headers: {}, body: null, maxBytes: 1_000_000 } as const
  await expect(http.call(call, unended)).rejects.toMatchObject({ kind: 'unsure' })
})

test('a download ends at its bound, although the file never falls silent', async () => {
  const url = (await aTrickle(200)).href
  const download = { fetch, url, headers: {}, platform: 'Slack', maxBytes: 1_000_000, signal: unended, maxMs }
  await expect(downloadBounded(download)).rejects.toMatchObject({ kind: 'unsure' })
})

test.each([
  [202, undefined],
  [200, undefined],
  [503, 'unsure'],
])('the post of an event ends at its bound, and its status %i counts', async (status, kind) => {
  const url = (await aTrickle(status)).href
  const event = { body: '{}', id: 'm', timestamp: '1', signature: 's', maxMs }
  const posted = postSigned(url, event, unended)
  if (kind === undefined) await posted
  else await expect(posted).rejects.toMatchObject({ kind })
})
