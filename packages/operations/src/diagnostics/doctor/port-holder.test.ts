import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { expect, it, onTestFinished } from 'vitest'
import { listenersOn, portHolder } from './port-holder.ts'

it('the process that listens on a port is found by its number, and null if no process does', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  expect(await portHolder({ port, host: '127.0.0.1' })).toMatchObject({ pid: process.pid })
  await new Promise<void>((resolve) => server.close(() => resolve()))
  expect(await portHolder({ port, host: '127.0.0.1' })).toBeNull()
  expect(await portHolder({ port, host: '127.0.0.1' }, '/nowhere')).toBeNull()
})

it('only listening sockets on the same port count', () => {
  const table = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    '   0: 0100007F:20E4 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1',
    '   1: 0100007F:20E4 0100007F:9000 01 00000000:00000000 00:00000000 00000000     0        0 222 1',
    '   2: 0100007F:20E5 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 333 1',
  ].join('\n')
  expect(listenersOn(table, { port: 8420, host: '127.0.0.1' })).toEqual(['111'])
})

it.each([
  ['127.0.0.1', ['here', 'every4', 'every6', 'mapped']],
  ['172.20.0.1', ['gateway', 'every4', 'every6']],
  ['0.0.0.0', ['here', 'gateway', 'every4', 'every6', 'mapped']],
  ['::1', ['here6', 'every6']],
  ['0:0:0:0:0:0:0:1', ['here6', 'every6']],
  ['::', ['here', 'gateway', 'every4', 'here6', 'every6', 'mapped']],
])('only sockets on %s or on every address are in its way', (host, inTheWay) => {
  const row = (address: string, inode: string) =>
    `   0: ${address}:20E4 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1`
  const table = [
    row('0100007F', 'here'),
    row('010014AC', 'gateway'),
    row('00000000', 'every4'),
    row('00000000000000000000000001000000', 'here6'),
    row('00000000000000000000000000000000', 'every6'),
    row('0000000000000000FFFF00000100007F', 'mapped'),
  ].join('\n')
  expect(listenersOn(table, { port: 8420, host })).toEqual(inTheWay)
})

it('a process that listens on another address of the machine is not named', async () => {
  const server = createServer()
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.2', resolve))
  const { port } = server.address() as AddressInfo
  expect(await portHolder({ port, host: '127.0.0.1' })).toBeNull()

  const program = `require('node:net').createServer().listen(${port}, '127.0.0.1', () => console.log('listens'))`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  expect(await portHolder({ port, host: '127.0.0.1' })).toMatchObject({ pid: child.pid })
  expect(await portHolder({ port, host: '127.0.0.2' })).toMatchObject({ pid: process.pid })
  // Both processes hold the port; the own process need not be reported.
  expect(await portHolder({ port, host: '0.0.0.0' })).toMatchObject({ pid: child.pid })
})
