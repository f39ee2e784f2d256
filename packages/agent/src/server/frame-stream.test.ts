import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test, vi } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { openFrameStream } from './frame-stream.ts'
import type { RouteCall } from './http-server.ts'

test('a silent run sends a comment at every interval, on the hop from the agent too', async () => {
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

test('nothing is written to a listener that left before its stream was begun, and no clock runs for it', async () => {
  const begun = vi.spyOn(globalThis, 'setInterval')
  const ended = vi.spyOn(globalThis, 'clearInterval')
  const opened = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    response.once('close', () => {
      openFrameStream({ request, response } as unknown as RouteCall, 5)
      opened.resolve()
    })
    sent.destroy()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sent = get({ port: (server.address() as AddressInfo).port }).on('error', () => {})
  await opened.promise
  const clocks = begun.mock.results
    .filter((_, at) => begun.mock.calls[at]?.[1] === 5)
    .map(({ value }) => value)
  for (const clock of clocks) expect(ended).toHaveBeenCalledWith(clock)
  server.close()
  vi.restoreAllMocks()
})
