import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { isPublicAddress } from '../../packages/egress/src/egress/policy/public-addresses.ts'
import { aBrowserProxy } from '../../packages/testing/src/browser-proxy-harness.ts'
import type { BrowserProxyHarness } from '../../packages/testing/src/browser-proxy-harness.ts'
import { proxyAuthorization } from '../../packages/testing/src/proxy-harness.ts'

/** Represents an internet address, because the tests use no network. */
const publicAddress = '127.0.0.2'
const privateAddress = '127.0.0.1'
const name = 'turns.test'

/**
 * The name servers of this name belong to an attacker: they answer with an internet address when the name is
 * checked, and with an address of this machine when it is used. Everything that a page loads goes through the
 * proxy, which alone resolves names.
 */
describe('a name that changes its address between two questions', () => {
  const counts = { public: 0, private: 0, lookups: 0 }
  let answers: (readonly string[])[] = []
  let servers: Server[] = []
  let port = 0
  let proxy: BrowserProxyHarness

  async function listen(address: string, wanted: number, kind: 'public' | 'private'): Promise<number> {
    const server = createServer((_request, response) => {
      counts[kind]++
      response.end(kind)
    })
    server.on('connection', (socket) => socket.on('error', () => undefined))
    server.on('connect', (_request, socket: Socket) => socket.destroy())
    servers.push(server)
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(wanted, address, resolve)
    })
    return (server.address() as AddressInfo).port
  }

  beforeAll(async () => {
    port = await listen(privateAddress, 0, 'private')
    await listen(publicAddress, port, 'public')
    proxy = await aBrowserProxy({
      resolve: async () => {
        counts.lookups++
        const told = answers.shift() ?? [privateAddress]
        return told.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
      },
      isAllowed: (address) => address === publicAddress || isPublicAddress(address),
      allowedPorts: [port],
    })
  })
  afterAll(async () => {
    await proxy?.close()
    for (const server of servers) {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
    servers = []
  })
  beforeEach(() => {
    Object.assign(counts, { public: 0, private: 0, lookups: 0 })
    answers = []
  })

  /** Sends one request through a tunnel and returns the answer. */
  async function through(socket: Socket): Promise<string> {
    socket.write(`GET / HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`)
    const chunks: Buffer[] = []
    for await (const chunk of socket) chunks.push(Buffer.from(chunk as Uint8Array))
    return Buffer.concat(chunks).toString('latin1')
  }

  it('a name that changes its address between two questions is connected to at the address that was judged, for which it is asked once', async () => {
    answers = [[publicAddress]]
    const { head, socket } = await proxy.ask(`${name}:${port}`, 'ada-browser')
    expect(head).toMatch(/^HTTP\/1\.1 200 /)
    expect(await through(socket)).toMatch(/\r\npublic$/)
    expect(counts).toEqual({ public: 1, private: 0, lookups: 1 })
  })

  it('a name that changes its address between two questions is judged anew with each connection, and refused once it leads inside', async () => {
    answers = [[publicAddress], [privateAddress]]
    const first = await proxy.ask(`${name}:${port}`, 'ada-browser')
    const second = await proxy.ask(`${name}:${port}`, 'ada-browser')
    expect([first.head, second.head]).toEqual([
      expect.stringMatching(/^HTTP\/1\.1 200 /),
      expect.stringContaining('address-refused'),
    ])
    // A tunnel that is open stays connected to the address that was checked.
    expect(await through(first.socket)).toMatch(/\r\npublic$/)
    expect(counts).toEqual({ public: 1, private: 0, lookups: 2 })
  })

  it('a name that changes its address between two questions is judged anew with each request of plain HTTP on one connection, too', async () => {
    answers = [[publicAddress], [privateAddress]]
    const socket = proxy.dial()
    const ask = async (): Promise<string> => {
      socket.write(
        `GET http://${name}:${port}/ HTTP/1.1\r\nHost: ${name}\r\n${proxyAuthorization('ada-browser', 'browser')}\r\n\r\n`,
      )
      let said = ''
      while (!/public|address-refused/.test(said)) {
        const [chunk] = (await once(socket, 'data')) as [Buffer]
        said += chunk.toString('latin1')
      }
      return said
    }
    expect(await ask()).toMatch(/^HTTP\/1\.1 200 /)
    expect(await ask()).toMatch(/address-refused/)
    expect(counts).toEqual({ public: 1, private: 0, lookups: 2 })
    socket.destroy()
  })

  it.each([
    ['beside one of the internet', [publicAddress, privateAddress]],
    ['in the spelling of the other family', ['::ffff:127.0.0.1']],
    ['that leads to this very host', ['0.0.0.0']],
    ['of IPv6', ['::1']],
  ])(
    'a name that changes its address between two questions is refused with an address of this machine %s',
    async (_how, told) => {
      answers = [told]
      const { head } = await proxy.ask(`${name}:${port}`, 'ada-browser')
      expect(head).toContain('address-refused')
      expect(counts).toMatchObject({ public: 0, private: 0 })
    },
  )
})
