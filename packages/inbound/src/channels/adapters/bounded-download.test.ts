import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { downloadBounded } from './bounded-download.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function download(answer: RequestListener, maxBytes = 1000) {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`
  const signal = new AbortController().signal
  return downloadBounded({
    fetch,
    url,
    headers: { authorization: 'Bearer x' },
    platform: 'Slack',
    maxBytes,
    signal,
  })
}

test('a file is downloaded in full', async () => {
  expect(Buffer.from(await download((_, response) => response.end('whole'))).toString()).toBe('whole')
})

test.each([
  ['503', 503, 'unsure'],
  ['a deleted file', 404, 'gone'],
  ['a file without access', 403, 'refused'],
])('%s', async (_name, status, kind) => {
  await expect(download((_, response) => response.writeHead(status).end('no'))).rejects.toMatchObject({
    kind,
  })
})

test('the download waits as long as the platform asks', async () => {
  const limited = download((_, response) => response.writeHead(429, { 'retry-after': '9' }).end())
  await expect(limited).rejects.toMatchObject({ kind: 'rate-limited', retryAfterMs: 9000 })
})

test('an incomplete file is rejected', async () => {
  const half = download((_, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('half', () => response.destroy())
  })
  await expect(half).rejects.toMatchObject({ name: 'ChannelFailure', kind: 'unsure' })
})

test('a redirect is not followed, because it would forward the token', async () => {
  const asked: string[] = []
  const led = download((request, response) => {
    asked.push(request.url ?? '')
    response.writeHead(302, { location: '/elsewhere' }).end()
  })
  await expect(led).rejects.toMatchObject({ kind: 'refused' })
  expect(asked).toEqual(['/file'])
})
