import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { createServer } from './server.ts'

const body = '{"said":"plain"}'

function aServer() {
  const server = createServer(silentLog)
  const taken: unknown[] = []
  server.post('/take', async (request) => {
    taken.push(request.body)
    return { taken: true }
  })
  onTestFinished(() => server.close())
  return { server, taken }
}

test.each([
  ['gzip over plain text', 'gzip', body],
  ['gzip', 'gzip', gzipSync(body)],
  ['a gzip bomb', 'gzip', gzipSync(Buffer.alloc(8 * 1024 * 1024, '['))],
  ['x-gzip', 'X-GZIP', gzipSync(body)],
  ['brotli', 'br', body],
  ['deflate', 'deflate', body],
  ['zstd', 'zstd', body],
  ['two of them', 'identity, gzip', body],
  ['an unknown encoding', 'none-such', body],
])('an API decodes nothing and says so: %s', async (_what, encoding, payload) => {
  const { server, taken } = aServer()
  const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
  const reply = await server.inject({ method: 'POST', url: '/take', headers, payload })
  expect(reply.statusCode).toBe(415)
  expect(reply.json()).toMatchObject({ code: 'unsupported-encoding' })
  expect(taken).toEqual([])
})

test('a body that says it is as it is, is taken', async () => {
  const { server, taken } = aServer()
  const headers = { 'content-type': 'application/json', 'content-encoding': 'Identity' }
  const reply = await server.inject({ method: 'POST', url: '/take', headers, payload: body })
  expect(reply.statusCode).toBe(200)
  expect(taken).toEqual([{ said: 'plain' }])
})
