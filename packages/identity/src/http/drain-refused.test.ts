import { once } from 'node:events'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { connectionBounds } from './bound-connections.ts'
import { createServer } from './server.ts'

const bodyBytes = 5_000_000
const part = Buffer.alloc(65_536, 'x')

/** An API that refuses every body above `bodyLimit`, and the bytes received on its only connection. */
async function aServer() {
  const server = createServer(silentLog, connectionBounds)
  server.post('/take', { bodyLimit: 1000 }, () => 'taken')
  const arrived: Socket[] = []
  server.server.on('connection', (socket) => arrived.push(socket))
  await server.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1')
  // Like many clients, it does not read before it has sent everything.
  socket.pause()
  onTestFinished(async () => {
    socket.destroy()
    await server.close()
  })
  const send = async (bytes: Buffer) => {
    if (!socket.write(bytes)) await Promise.race([once(socket, 'drain'), once(socket, 'close')])
  }
  await send(
    Buffer.from(
      `POST /take HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${bodyBytes}\r\n\r\n`,
    ),
  )
  return { socket, send, received: () => arrived[0]?.bytesRead ?? 0 }
}

test('a sender of far too much that reads only when it has sent it all reads why it was refused', async () => {
  const { socket, send } = await aServer()
  for (let left = bodyBytes; left > 0; left -= part.length) await send(part.subarray(0, left))
  const reply = await text(socket)
  expect(reply).toContain('HTTP/1.1 413')
  expect(reply).toContain('the body may have at most 1000 bytes')
  expect(reply).toMatch(/^connection: close/im)
})

test('a sender that falls silent in the middle is answered, and hung up on', async () => {
  const { socket, send, received } = await aServer()
  await send(part)
  expect(await text(socket)).toContain('HTTP/1.1 413')
  expect(received()).toBeLessThan(2 * part.length)
})
