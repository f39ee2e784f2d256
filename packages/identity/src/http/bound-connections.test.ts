import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { boundConnections } from './bound-connections.ts'

test('an address has a limited number of connections and gets new ones when it closes some', async () => {
  const server = createServer((socket) => socket.on('error', () => {}).write('hello'))
  boundConnections(server, { perAddressMax: 2, totalMax: 100 })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const sockets: Socket[] = []
  const greeted = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      sockets.push(socket)
      socket.on('error', () => resolve(false)).on('close', () => resolve(false))
      socket.once('data', () => resolve(true))
    })
  expect([await greeted(), await greeted()]).toEqual([true, true])
  expect(await greeted()).toBe(false)
  sockets[0]?.destroy()
  await expect.poll(greeted).toBe(true)
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})
