import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { openFrameStream } from './frame-stream.ts'
import type { RouteCall } from './http-server.ts'

test('a silent run is heard of at every interval, on the hop from the agent too', async () => {
  heedsLesson(99)
  const server = createServer((request, response) => {
    openFrameStream({ request, response } as unknown as RouteCall, 20)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sent = get({ port: (server.address() as AddressInfo).port })
  const [reply] = (await once(sent, 'response')) as [IncomingMessage]
  let heard = ''
  for await (const piece of reply) {
    heard += String(piece)
    if (heard.length >= 3 * ': keepalive\n\n'.length) break
  }
  expect(heard.startsWith(': keepalive\n\n'.repeat(3))).toBe(true)
  server.closeAllConnections()
  server.close()
})
