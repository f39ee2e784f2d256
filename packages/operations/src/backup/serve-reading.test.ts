import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { heldTrailer, serveReading, unreadTrailer } from './serve-reading.ts'

const piece = Buffer.alloc(65_536, 'x')

/** A server that sends `pieces` of an agent's data once `mayAnswer` resolves. */
async function aServer(pieces: number, mayAnswer = Promise.resolve(), failure?: Error) {
  let left = 0
  async function* tar() {
    for (let at = 0; at < pieces; at += 1) yield piece
    if (failure !== undefined) throw failure
  }
  const served = Promise.withResolvers<void>()
  const requested = Promise.withResolvers<void>()
  const gone = Promise.withResolvers<void>()
  const server = createServer((_request, answer) => {
    requested.resolve()
    answer.once('close', gone.resolve)
    const data = { tar: tar(), held: () => true, leave: async () => void (left += 1) }
    mayAnswer.then(() => serveReading(data, answer, () => {})).then(served.resolve, served.reject)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const asking = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
  asking.on('error', () => {})
  asking.end()
  await requested.promise
  return { asking, served: served.promise, gone: gone.promise, left: () => left }
}

test('a complete reading reports that the agent was frozen throughout', async () => {
  const { asking, served, left } = await aServer(3)
  const [reply] = (await once(asking, 'response')) as [IncomingMessage]
  expect(await buffer(reply)).toHaveLength(3 * piece.length)
  expect(reply.trailers[heldTrailer]).toBe('true')
  await served
  expect(left()).toBe(1)
})

test('a caller that disconnects before the response leaves no agent frozen', async () => {
  const may = Promise.withResolvers<void>()
  const { asking, served, gone, left } = await aServer(3, may.promise)
  asking.destroy()
  await gone
  may.resolve()
  await served
  expect(left()).toBe(1)
})

test('a caller that disconnects during the response leaves no agent frozen', async () => {
  const { asking, served, left } = await aServer(10_000)
  const [reply] = (await once(asking, 'response')) as [IncomingMessage]
  await once(reply, 'data')
  reply.destroy()
  await served
  expect(left()).toBe(1)
})

test.each([0, 2])('an archive that fails after %i pieces ends with its reason', async (pieces) => {
  const { asking, served, left } = await aServer(pieces, undefined, new Error('the pod is gone: ü\n'))
  const [reply] = (await once(asking, 'response')) as [IncomingMessage]
  expect(await buffer(reply)).toHaveLength(pieces * piece.length)
  expect(decodeURIComponent(reply.trailers[unreadTrailer] ?? '')).toBe('the pod is gone: ü\n')
  expect(reply.trailers[heldTrailer]).toBeUndefined()
  await served
  expect(left()).toBe(1)
})
