import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { exchange } from './provider-exchange.ts'
import { openProviderPool } from './provider-pool.ts'
import type { ProviderTimeouts } from './provider-pool.ts'
import { agentShareLimits } from '@flotilla/foundation/intake'

const ofOneAgent = agentShareLimits.providerConnections.perAgentMax

const answer = (body: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`

/** A server on bare sockets, and a pool of connections to it. */
async function aFarEnd(
  serve: (socket: Socket, request: string, nth: number) => void,
  timeouts: Partial<ProviderTimeouts> = {},
) {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    let got = ''
    let nth = 0
    socket.on('error', () => {})
    socket.setEncoding('latin1').on('data', (text: string) => {
      got += text
      if (!got.includes('\r\n\r\n') || !got.endsWith('!')) return
      const request = got
      got = ''
      serve(socket, request, nth++)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const pool = openProviderPool(`http://${host}`, timeouts)
  onTestFinished(async () => {
    await pool.destroy()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const ask = async (
    signal = new AbortController().signal,
    headers: Record<string, string> = {},
    agentId: string | null = 'ada',
  ) => {
    const request = { agentId, method: 'POST' as const, path: '/v1/x?y=1', headers, body: 'what?!' }
    const reply = await exchange({ pool, host, signal, request })
    return Buffer.concat(await Array.fromAsync(reply.body)).toString()
  }
  return { ask, sockets, pool, host }
}

describe('connections to a provider', () => {
  test('carry one call after the other, each whole and under its own address', async () => {
    const requests: string[] = []
    const { ask, sockets, host } = await aFarEnd((socket, request) => {
      requests.push(request)
      socket.write(answer(`answer ${requests.length}`))
    })
    expect(await ask(undefined, { authorization: 'Bearer k' })).toBe('answer 1')
    expect(await ask()).toBe('answer 2')
    expect(sockets).toHaveLength(1)
    expect(requests[0]).toBe(
      `POST /v1/x?y=1 HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\nauthorization: Bearer k\r\ncontent-length: 6\r\n\r\nwhat?!`,
    )
  })

  test('carry as many calls at once as there are of them', async () => {
    const { ask, sockets } = await aFarEnd((socket) => void setImmediate(() => socket.write(answer('yes'))))
    expect(await Promise.all(Array.from({ length: 300 }, () => ask()))).toEqual(Array(300).fill('yes'))
    expect(sockets).toHaveLength(ofOneAgent)
  })

  test('connections to a provider are left for another agent, and for people, however many agents hold all that they may', async () => {
    const { ask } = await aFarEnd((socket, request) => {
      if (!request.includes('who: held')) socket.write(answer('yes'))
    })
    const leaving = new AbortController()
    const held = Array.from({ length: 20 * ofOneAgent }, (_, index) =>
      ask(leaving.signal, { who: 'held' }, `greedy-${index % 20}`).catch(() => 'left'),
    )
    expect(await ask(undefined, {}, 'modest')).toBe('yes')
    expect(await ask(undefined, {}, null)).toBe('yes')
    leaving.abort(new Error('enough'))
    expect(new Set(await Promise.all(held))).toEqual(new Set(['left']))
  })

  test('connections of one agent are reused by its next calls, which wait while another agent is served', async () => {
    const sent: string[] = []
    const { ask, sockets } = await aFarEnd((socket, request) => {
      const who = /who: (\w+)/.exec(request)?.[1] ?? ''
      sent.push(who)
      if (who !== 'held') socket.write(answer(who))
    })
    const held = Array.from({ length: ofOneAgent }, () =>
      ask(undefined, { who: 'held' }, 'greedy').catch(() => {}),
    )
    const waits = ask(undefined, { who: 'waits' }, 'greedy')
    expect(await ask(undefined, { who: 'other' }, 'modest')).toBe('other')
    expect(sent).not.toContain('waits')
    sockets[0]?.destroy()
    expect(await waits).toBe('waits')
    for (const socket of sockets) socket.destroy()
    await Promise.all(held)
  })

  test('a connection is closed by unrequested bytes, which are no answer to the next call', async () => {
    const { ask, sockets } = await aFarEnd((socket, _request, nth) => {
      socket.write(answer(nth === 0 ? 'mine' : 'unseen'))
      if (sockets.length === 1) socket.write(answer('poison'))
    })
    expect(await ask()).toBe('mine')
    expect(await ask()).toBe('mine')
    expect(sockets).toHaveLength(2)
  })

  test('a connection that the server has closed meanwhile fails no call', async () => {
    const { ask, sockets } = await aFarEnd((socket) => socket.write(answer('yes')))
    expect(await ask()).toBe('yes')
    const closed = once(sockets[0]!, 'close')
    sockets[0]?.end()
    await closed
    expect(await ask()).toBe('yes')
    expect(sockets).toHaveLength(2)
  })

  test('connections to a provider are left before the time that the far end keeps them', async () => {
    const { ask, sockets } = await aFarEnd((socket) =>
      socket.write('HTTP/1.1 200 OK\r\nkeep-alive: timeout=2\r\ncontent-length: 0\r\n\r\n'),
    )
    await ask()
    await ask()
    expect(sockets).toHaveLength(2)
  })

  test('a connection closes with the call whose caller disconnects, and with no other', async () => {
    const { ask, sockets } = await aFarEnd((socket, _request, nth) => {
      if (sockets.length > 1 || nth > 0) socket.write(answer('yes'))
    })
    const leaving = new AbortController()
    const left = ask(leaving.signal)
    const reason = new Error('enough')
    await expect.poll(() => sockets.length).toBe(1)
    leaving.abort(reason)
    await expect(left).rejects.toBe(reason)
    expect(await ask()).toBe('yes')
    expect(sockets).toHaveLength(2)
  })

  test('a call whose caller left before its connection was open sends nothing', async () => {
    const requests: string[] = []
    const { ask } = await aFarEnd((socket, request) => {
      requests.push(request)
      socket.write(answer('yes'))
    })
    const leaving = new AbortController()
    const left = ask(leaving.signal, { who: 'left' })
    leaving.abort(new Error('enough'))
    await expect(left).rejects.toThrow('enough')
    expect(await ask(undefined, { who: 'stayed' })).toBe('yes')
    expect(requests.map((request) => /who: (\w+)/.exec(request)?.[1])).toEqual(['stayed'])
  })

  test('a call whose caller has left occupies no connection slot', async () => {
    const { ask, sockets } = await aFarEnd((socket, request) => {
      if (!request.includes('who: held')) socket.write(answer('yes'))
    })
    const held = Array.from({ length: ofOneAgent }, () => ask(undefined, { who: 'held' }).catch(() => {}))
    const leaving = Array.from({ length: 4096 }, () => {
      const asker = new AbortController()
      return { asker, left: ask(asker.signal).catch(() => 'left') }
    })
    for (const { asker } of leaving) asker.abort(new Error('enough'))
    expect(new Set(await Promise.all(leaving.map(({ left }) => left)))).toEqual(new Set(['left']))
    const stayed = ask()
    await expect.poll(() => sockets.length).toBe(ofOneAgent)
    sockets[0]?.destroy()
    expect(await stayed).toBe('yes')
    for (const socket of sockets) socket.destroy()
    await Promise.all(held)
  })

  test('no connection is opened for a call that was cancelled', async () => {
    const { ask, sockets, pool } = await aFarEnd((socket) => socket.write(answer('yes')))
    const nothing = () => {}
    const answering = { onSent: nothing, onHead: nothing, onData: nothing, onEnd: nothing, onError: nothing }
    const call = { agentId: 'ada', method: 'GET' as const, path: '/', headers: {}, body: null }
    pool.dispatch(call, { ...answering, isWanted: () => false })
    expect(await ask()).toBe('yes')
    expect(sockets).toHaveLength(1)
  })

  test.each([
    ['a server that never ends the TLS handshake', 'https', null],
    ['a proxy that never answers', 'http', 'proxy'],
  ] as const)(
    'a call that is cancelled while its connection opens frees its place at once, with %s',
    async (_at, scheme, through) => {
      const opened: Socket[] = []
      const server = createServer((socket) => opened.push(socket.on('error', () => {}).resume()))
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
      const { port } = server.address() as AddressInfo
      const proxy = {
        protocol: 'http:',
        host: '127.0.0.1',
        port,
        shown: host,
        authorization: () => null,
      } as const
      const pool = openProviderPool(`${scheme}://${host}`, {}, through === null ? null : proxy)
      onTestFinished(async () => {
        await pool.destroy()
        server.close()
      })
      const request = { agentId: 'ada', method: 'GET' as const, path: '/', headers: {}, body: null }
      const leaving = new AbortController()
      const left = Array.from({ length: ofOneAgent }, () =>
        exchange({ pool, host, signal: leaving.signal, request }).catch(() => 'left'),
      )
      // All connections are opened at the same time.
      await expect.poll(() => opened.length).toBe(ofOneAgent)
      const staying = new AbortController()
      const next = exchange({ pool, host, signal: staying.signal, request }).catch(() => 'left')
      leaving.abort(new Error('enough'))
      expect(new Set(await Promise.all(left))).toEqual(new Set(['left']))
      // Long before the attempts would end by themselves, after 10 s or 30 s.
      const soon = { timeout: 5000 }
      await expect.poll(() => opened.length, soon).toBe(ofOneAgent + 1)
      await expect.poll(() => opened.filter((socket) => !socket.destroyed).length, soon).toBe(1)
      staying.abort(new Error('enough'))
      expect(await next).toBe('left')
    },
  )

  test('a request sent without an answer is distinguished from a request that was never sent', async () => {
    const { ask, pool } = await aFarEnd((socket) => socket.destroy())
    await expect(ask()).rejects.toMatchObject({ code: 'upstream-failed' })
    await pool.destroy()
    await expect(ask()).rejects.toMatchObject({ code: 'provider-unreachable' })
    const nobody = openProviderPool('http://127.0.0.1:1')
    const request = { agentId: 'ada', method: 'POST' as const, path: '/', headers: {}, body: null }
    const { signal } = new AbortController()
    await expect(exchange({ pool: nobody, host: 'nobody', signal, request })).rejects.toMatchObject({
      code: 'provider-unreachable',
      detail: expect.stringContaining('ECONNREFUSED'),
    })
  })

  test('connections to a provider leave no call waiting when they are closed', async () => {
    const { ask, sockets, pool } = await aFarEnd(() => {})
    const asked = Array.from({ length: 600 }, () => ask().catch((error: unknown) => error))
    await expect.poll(() => sockets.length).toBe(ofOneAgent)
    await pool.destroy()
    const codes = (await Promise.all(asked)).map((error) => (error as { code?: string }).code)
    expect(codes.filter((code) => code === 'provider-unreachable').length).toBeGreaterThanOrEqual(
      600 - ofOneAgent,
    )
    expect(codes.filter((code) => code === 'upstream-failed').length).toBeLessThanOrEqual(ofOneAgent)
  })

  test('connections to a provider wait no longer for the head of an answer because pieces of it come', async () => {
    const { ask } = await aFarEnd(
      (socket) => {
        const drip = setInterval(() => socket.write('a: b\r\n'), 20)
        socket.once('close', () => clearInterval(drip)).write('HTTP/1.1 200 OK\r\n')
      },
      { headersMs: 200 },
    )
    await expect(ask()).rejects.toMatchObject({ code: 'upstream-timeout' })
  })

  test('requests get no header that would replace another one, and no second length', async () => {
    const requests: string[] = []
    const { ask, sockets } = await aFarEnd((socket, request) => {
      requests.push(request)
      socket.write(answer('yes'))
    })
    await expect(ask(undefined, { a: 'b\r\nc: d' })).rejects.toMatchObject({ code: 'provider-unreachable' })
    expect(await ask(undefined, { 'content-length': '1', host: 'elsewhere' })).toBe('yes')
    await expect(ask(undefined, { a: 'h\u0142' })).rejects.toMatchObject({ code: 'provider-unreachable' })
    expect(await ask()).toBe('yes')
    expect(sockets).toHaveLength(1)
    expect(requests).toHaveLength(2)
    expect(requests[0]).not.toContain('elsewhere')
    expect(requests[0]?.match(/content-length/g)).toHaveLength(1)
  })

  test('connections to a provider are not used again where the answer came before all of the call had left', async () => {
    const { ask, sockets, pool, host } = await aFarEnd((socket) => socket.write(answer('yes')))
    sockets.push = (socket: Socket) => {
      Array.prototype.push.call(sockets, socket)
      if (sockets.length === 1) {
        // Reads nothing of a large body and answers at once.
        socket.removeAllListeners('data').pause()
        socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n')
      }
      return sockets.length
    }
    const { signal } = new AbortController()
    const body = Buffer.alloc(32 * 1024 * 1024)
    const request = { agentId: 'ada', method: 'POST' as const, path: '/', headers: {}, body }
    const reply = await exchange({ pool, host, signal, request })
    expect(reply.status).toBe(413)
    expect(await Array.fromAsync(reply.body)).toEqual([])
    expect(await ask()).toBe('yes')
    expect(sockets).toHaveLength(2)
  })
})
