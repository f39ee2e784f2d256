import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createPeerUsers, userInTable } from './peer-user.ts'

const head =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'
const row = (local: string, remote: string, [state, uid]: readonly [string, number]) =>
  `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 4711 1 0 20 4 30 10 -1\n`
const ends = {
  localAddress: '127.0.0.1',
  localPort: 8420,
  remoteAddress: '127.0.0.1',
  remotePort: 50_000,
}
const mesh = '0100007F:20E4'
const caller = '0100007F:C350'

test('the far end’s row names its user, not the near end’s', () => {
  expect(userInTable([head + row(mesh, caller, ['01', 0]) + row(caller, mesh, ['01', 1001])], ends)).toBe(
    1001,
  )
})

test.each([
  ['one that its program closed, which the kernel shows as root’s', row(caller, mesh, ['04', 0])],
  ['one in TIME_WAIT', row(caller, mesh, ['06', 0])],
  ['the same port of another loopback address', row('0200007F:C350', mesh, ['01', 0])],
  ['the same address to another port', row(caller, '0100007F:20E5', ['01', 0])],
  ['an empty table', ''],
])('%s is no row of the caller', (_name, text) => {
  expect(userInTable([head + text], ends)).toBeNull()
})

test('addresses of IPv6 are found, mapped ones too', () => {
  const six = '00000000000000000000000001000000'
  const sixEnds = { ...ends, localAddress: '::1', remoteAddress: '::1' }
  expect(userInTable([row(`${six}:C350`, `${six}:20E4`, ['01', 7])], sixEnds)).toBe(7)
  const mapped = '0000000000000000FFFF00000100007F'
  expect(userInTable([row(`${mapped}:C350`, `${mapped}:20E4`, ['01', 8])], ends)).toBe(8)
})

test('a row that two reads share is found wherever they part, and nothing after it is read', () => {
  const text = head + row(mesh, caller, ['01', 0]) + row(caller, mesh, ['01', 1001])
  for (let cut = 0; cut <= text.length; cut++) {
    expect(userInTable([text.slice(0, cut), text.slice(cut)], ends), `parted at ${cut}`).toBe(1001)
  }
  const further = function* () {
    yield text
    throw new Error('read on')
  }
  expect(userInTable(further(), ends)).toBe(1001)
})

test('the second table is read only for connections that are not in the first', () => {
  const asked: string[] = []
  const userOf = createPeerUsers((path) => {
    asked.push(path)
    return [row(caller, mesh, ['01', 1001])]
  })
  const socket = { ...ends } as unknown as Socket
  expect([userOf(socket), userOf(socket)]).toEqual([1001, 1001])
  expect(asked).toEqual(['/proc/net/tcp'])
})

test('a system without the table says that it does not know', () => {
  const socket = { ...ends } as unknown as Socket
  expect(createPeerUsers(() => null)(socket)).toBe('unknown')
})

test.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
  'a real program of another user is distinguished from one of the same user',
  async () => {
    const users: (number | string | null)[] = []
    const userOf = createPeerUsers()
    const server = createServer((socket) => {
      socket.once('data', () => {
        users.push(userOf(socket))
        socket.end('ok')
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const address = server.address()
    const port = typeof address === 'object' && address ? address.port : 0
    const own = connect(port, '127.0.0.1', () => own.resume().write('x'))
    await once(own, 'close', { signal: AbortSignal.timeout(10_000) })
    const asNobody = `exec 3<>/dev/tcp/127.0.0.1/${port}; printf x >&3; cat <&3`
    const child = spawn('bash', ['-c', asNobody], { uid: 65_534, gid: 65_534 })
    await once(child, 'exit')
    expect(users).toEqual([0, 65_534])
  },
)
