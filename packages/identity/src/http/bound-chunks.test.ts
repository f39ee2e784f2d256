import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { tinyChunks } from './bound-chunks.ts'
import { createServer } from './server.ts'

async function aServer() {
  const server = createServer(silentLog)
  const bodies: number[] = []
  server.post('/x', async ({ body }) => {
    bodies.push(JSON.stringify(body).length)
    return {}
  })
  await server.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => server.close())
  const { port } = server.server.address() as AddressInfo
  return { port, bodies }
}

/** A JSON string of some characters, in chunks of the given size. */
function chunked(chars: number, size: number): string {
  const body = JSON.stringify('x'.repeat(chars))
  const count = Math.ceil(body.length / size)
  const chunks = Array.from({ length: count }, (_, at) => body.slice(at * size, (at + 1) * size))
  return chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')
}

async function send(port: number, body: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let got = ''
  socket.on('data', (bytes) => (got += String(bytes))).on('error', () => undefined)
  socket.write(
    `POST /x HTTP/1.1\r\nHost: a\r\ncontent-type: application/json\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n${body}0\r\n\r\n`,
  )
  await new Promise((resolve) => socket.once('close', resolve))
  return got
}

test('a body in chunks of one byte is refused with the reason, and never reaches its route', async () => {
  const { port, bodies } = await aServer()
  const got = await send(port, chunked(1100, 1))
  expect(got).toMatch(/^HTTP\/1\.1 400 /)
  expect(got).toContain(tinyChunks)
  expect(bodies).toEqual([])
})

test.each([
  [900, 1],
  [500_000, 17],
  [500_000, 20_000],
])('a body of %d bytes in chunks of %d is taken', async (chars, size) => {
  const { port, bodies } = await aServer()
  expect(await send(port, chunked(chars, size))).toMatch(/^HTTP\/1\.1 200 /)
  expect(bodies).toEqual([chars + 2])
})
