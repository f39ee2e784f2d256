import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { expect, it } from 'vitest'
import { listenersOn, portHolder } from './port-holder.ts'

it('the process that listens on a port is found by its number, and nobody where nobody does', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  expect(await portHolder(port)).toMatchObject({ pid: process.pid })
  await new Promise<void>((resolve) => server.close(() => resolve()))
  expect(await portHolder(port)).toBeNull()
  expect(await portHolder(port, '/nowhere')).toBeNull()
})

it('only sockets that listen count, on that very port', () => {
  const table = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    '   0: 0100007F:20E4 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1',
    '   1: 0100007F:20E4 0100007F:9000 01 00000000:00000000 00:00000000 00000000     0        0 222 1',
    '   2: 0100007F:20E5 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 333 1',
  ].join('\n')
  expect(listenersOn(table, 8420)).toEqual(['111'])
})
