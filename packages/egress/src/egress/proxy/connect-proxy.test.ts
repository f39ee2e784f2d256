import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { eventually } from '../../../../../tests/support/eventually.ts'
import { aFarEnd, aProxy, proxyAuthorization } from '../../../../testing/src/proxy-harness.ts'
import type { ProxyHarness, ProxyHarnessOptions } from '../../../../testing/src/proxy-harness.ts'
import { agentShareLimits } from '@flotilla/foundation/intake'

async function harness(options: ProxyHarnessOptions = {}): Promise<ProxyHarness> {
  const made = await aProxy(options)
  onTestFinished(() => made.close())
  return made
}

async function farEnd(serve: (socket: Socket) => void) {
  const made = await aFarEnd(serve)
  onTestFinished(() => made.close())
  return made
}

/** Reads until the other side ends. */
async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  await new Promise((resolve) => socket.once('end', resolve).once('close', resolve))
  return Buffer.concat(chunks).toString()
}

const closeOf = (socket: Socket): Promise<unknown> =>
  new Promise((resolve) => (socket.destroyed ? resolve(null) : socket.resume().once('close', resolve)))

const problemOf = (answer: string): { code: string; detail: string; repair: string } =>
  JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as never

describe('a tunnel', () => {
  test('a tunnel passes bytes in both directions and counts them', async () => {
    const far = await farEnd((socket) => socket.pipe(socket))
    const { tunnel, counts, journal, openTunnels } = await harness({ ports: [far.port] })
    const { socket, head } = await tunnel(`site.test:${far.port}`)
    expect(head).toMatch(/^HTTP\/1\.1 200 /)
    expect(openTunnels()).toBe(1)
    socket.end('there and back')
    expect(await readAll(socket)).toBe('there and back')
    await eventually('it is closed', async () => openTunnels() === 0)
    expect(counts.list(10)).toEqual([
      { agentId: 'scout', host: 'site.test', connections: 1, refused: 0, bytesOut: 14, bytesIn: 14 },
    ])
    expect(journal.entries).toMatchObject([
      { actor: 'agent:scout', action: 'proxy.opened', subject: 'site.test' },
      {
        action: 'proxy.used',
        subject: 'site.test',
        detail: { connections: 1, bytes_out: 14, bytes_in: 14 },
      },
    ])
  })

  test('a tunnel passes on bytes that arrived with its request', async () => {
    const far = await farEnd((socket) => socket.pipe(socket))
    const { port } = await harness({ ports: [far.port] })
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.end(
      `CONNECT site.test:${far.port} HTTP/1.1\r\n${proxyAuthorization('scout-program')}\r\n\r\nearly`,
    )
    expect(await readAll(socket)).toMatch(/\r\n\r\nearly$/)
  })

  test.each([
    ['no token', '', 407, 'proxy-unauthenticated'],
    ['another scheme', 'Proxy-Authorization: Bearer scout-program\r\n', 407, 'proxy-unauthenticated'],
    ['an unknown token', `${proxyAuthorization('guess')}\r\n`, 407, 'proxy-unauthenticated'],
    ['no password', `${proxyAuthorization('')}\r\n`, 407, 'proxy-unauthenticated'],
    ['the token of the agent itself', `${proxyAuthorization('scout-door')}\r\n`, 403, 'denied'],
    [
      'a token in Authorization',
      `Authorization: Basic ${Buffer.from('x:scout-program').toString('base64')}\r\n`,
      407,
      'proxy-unauthenticated',
    ],
  ])('a tunnel with %s is refused before any lookup', async (...[, line, status, code]) => {
    const { raw, lookups } = await harness()
    const answer = await raw(`CONNECT site.test:443 HTTP/1.1\r\nHost: site.test:443\r\n${line}\r\n`)
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(answer).toContain('content-type: application/problem+json')
    expect(/proxy-authenticate: Basic/i.test(answer)).toBe(status === 407)
    expect(problemOf(answer)).toMatchObject({ code })
    expect(problemOf(answer).repair).not.toBe('')
    expect(lookups).toEqual([])
  })

  test('a tunnel belongs to the agent of its token, whatever the user name is', async () => {
    const far = await farEnd((socket) => socket.end('x'))
    const { raw, counts } = await harness({ ports: [far.port] })
    await raw(
      `CONNECT site.test:${far.port} HTTP/1.1\r\n${proxyAuthorization('scout-program', 'other')}\r\n\r\n`,
    )
    await eventually('it is counted', async () => counts.list(1).length === 1)
    expect(counts.list(1)).toMatchObject([{ agentId: 'scout' }])
  })

  test('a tunnel needs a live run and the permission', async () => {
    const { raw, working, lookups, journal } = await harness({ denied: ['other'] })
    working.delete('scout')
    const ask = async (token: string) =>
      problemOf(await raw(`CONNECT site.test:443 HTTP/1.1\r\n${proxyAuthorization(token)}\r\n\r\n`))
    expect(await ask('scout-program')).toMatchObject({
      code: 'denied',
      detail: expect.stringContaining('the agent has no active run') as unknown,
    })
    expect(await ask('other-program')).toMatchObject({ code: 'denied' })
    expect(lookups).toEqual([])
    expect(journal.entries).toMatchObject([
      { actor: 'agent:other', action: 'proxy.refused', subject: 'site.test', detail: { problem: 'denied' } },
    ])
  })

  test.each([
    '127.0.0.2:443',
    '0x7f000002:443',
    '169.254.169.254:80',
    '[::1]:443',
    '[::ffff:127.0.0.1]:443',
    '[fd00:ec2::254]:80',
    '168.63.129.16:80',
    '100.100.100.200:80',
    '10.0.0.1:443',
    'inside.test:443',
  ])('a tunnel to %s is refused because of its address', async (target) => {
    const { tunnel } = await harness()
    const { head } = await tunnel(target)
    expect(head).toMatch(/^HTTP\/1\.1 403 The address is not public\r\n/)
    expect(problemOf(head)).toMatchObject({ code: 'address-refused' })
  })

  test.each([
    ['8.8.8.8:53', 'port-refused', 'Agents may not connect to this port'],
    ['127.0.0.1:22', 'port-refused', 'Agents may not connect to this port'],
    ['nowhere.example:443', 'name-unresolved', 'The name has no address'],
    ['closed.test:443', 'destination-refused', 'The agent may not connect to this host'],
  ])('a tunnel to %s is refused as %s', async (target, code, title) => {
    const { tunnel, journal } = await harness({ isHostAllowed: (host) => host !== 'closed.test' })
    const { head } = await tunnel(target)
    expect(head).toContain(`HTTP/1.1 403 ${title}\r\n`)
    expect(problemOf(head)).toMatchObject({ code })
    expect(journal.entries).toMatchObject([{ action: 'proxy.refused', detail: { problem: code } }])
  })

  test.each(['site.test', 'site.test:0', 'a@site.test:443', '/', '[fe80::1%25lo]:80', 'site..test:443'])(
    'a tunnel to %j is no request',
    async (target) => {
      const { tunnel, lookups } = await harness()
      const { head } = await tunnel(target)
      expect(head).toMatch(/^HTTP\/1\.1 400 /)
      expect(lookups).toEqual([])
    },
  )

  test('a tunnel uses the checked address, even if the name changes at once', async () => {
    heedsLesson(26)
    const far = await farEnd((socket) => socket.end('judged'))
    let lookups = 0
    const { tunnel } = await harness({
      ports: [far.port],
      resolve: async () => [{ address: lookups++ === 0 ? '127.0.0.1' : '127.6.6.6', family: 4 }],
    })
    const { socket, head } = await tunnel(`rebinding.test:${far.port}`)
    expect(head).toMatch(/ 200 /)
    expect(await readAll(socket)).toBe('judged')
    expect(lookups).toBe(1)
    expect((await tunnel(`rebinding.test:${far.port}`)).head).toMatch(/ 403 /)
  })

  test('a tunnel stays open in one direction after the other has ended', async () => {
    const far = await farEnd((socket) => {
      void readAll(socket).then((said) => setTimeout(() => socket.end(`heard ${said}`), 50))
    })
    const { tunnel } = await harness({ ports: [far.port] })
    const near = await tunnel(`site.test:${far.port}`)
    near.socket.end('question')
    expect(await readAll(near.socket)).toBe('heard question')

    const speaker = await farEnd((socket) => {
      socket.end('announcement')
      void readAll(socket).then((said) => heard.push(said))
    })
    const heard: string[] = []
    const other = await harness({ ports: [speaker.port] })
    const reader = await other.tunnel(`site.test:${speaker.port}`)
    expect(await readAll(reader.socket)).toBe('announcement')
    reader.socket.end('still here')
    await eventually('the server receives it', async () => heard[0] === 'still here')
  })

  test('a tunnel slows down a sender whose receiver does not read', async () => {
    const far = await farEnd((socket) => socket.pause())
    const { tunnel, counts } = await harness({ ports: [far.port] })
    const { socket } = await tunnel(`site.test:${far.port}`)
    const before = process.memoryUsage().rss
    const piece = Buffer.alloc(1024 * 1024)
    let sent = 0
    while (sent < 256 && socket.writableLength < 8 * piece.length) {
      socket.write(piece)
      sent++
      await sleep(2)
    }
    expect(sent).toBeLessThan(256)
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 * 1024)
    await sleep(600)
    expect(counts.list(1)[0]?.bytesOut).toBeLessThan(32 * piece.length)
    socket.destroy()
  })

  test('a tunnel ends with its run, its token or its agent', async () => {
    const far = await farEnd((socket) => void socket.resume().on('end', () => socket.end()))
    const proxy = await harness({ ports: [far.port] })
    const target = `site.test:${far.port}`
    const cuts: Record<string, () => void> = {
      run: () => proxy.working.delete('scout'),
      token: () => proxy.tokens.delete('scout-program'),
      agent: () => proxy.cutAgent('scout'),
    }
    for (const [what, cut] of Object.entries(cuts)) {
      const { socket, head } = await proxy.tunnel(target)
      expect([what, head]).toEqual([what, expect.stringContaining(' 200 ')])
      const beside = await proxy.tunnel(target, 'other-program')
      const closed = closeOf(socket)
      cut()
      await closed
      await eventually('its place is free', async () => proxy.openTunnels() === 1)
      expect(beside.socket.destroyed).toBe(false)
      beside.socket.destroy()
      await eventually('all places are free', async () => proxy.openTunnels() === 0)
      proxy.working.add('scout')
      proxy.tokens.set('scout-program', { agentId: 'scout', token: 'program' })
    }
    expect(proxy.held.now).toBe(0)
    await eventually('the far ends are closed', async () => far.sockets.every((socket) => socket.destroyed))
  })

  test('a tunnel breaks with its server, and a refused connection is reported', async () => {
    const far = await farEnd((socket) => void socket.once('data', () => socket.resetAndDestroy()))
    const { tunnel, openTunnels } = await harness({ ports: [far.port, 1] })
    const { socket } = await tunnel(`site.test:${far.port}`)
    socket.write('x')
    await closeOf(socket)
    await eventually('its place is free', async () => openTunnels() === 0)
    const { head } = await tunnel('site.test:1')
    expect(head).toMatch(/^HTTP\/1\.1 502 /)
    expect(problemOf(head)).toMatchObject({ code: 'upstream-failed' })
  })

  test('concurrent tunnels are limited for each agent', async () => {
    const far = await farEnd((socket) => void socket.resume().on('end', () => socket.end()))
    const { tunnel, openTunnels } = await harness({ ports: [far.port] })
    const target = `site.test:${far.port}`
    const opened = []
    for (let count = 0; count < agentShareLimits.tunnels.perAgentMax; count++)
      opened.push(await tunnel(target))
    expect(openTunnels()).toBe(agentShareLimits.tunnels.perAgentMax)
    const refused = await tunnel(target)
    expect(refused.head).toMatch(/^HTTP\/1\.1 429 .*\r\n(?:.*\r\n)*retry-after: 1\r\n/)
    expect((await tunnel(target, 'other-program')).head).toMatch(/ 200 /)
    opened[0]?.socket.destroy()
    await eventually('a place is free', async () => openTunnels() === agentShareLimits.tunnels.perAgentMax)
    expect((await tunnel(target)).head).toMatch(/ 200 /)
  })

  test('opening a tunnel counts against the rate limit', async () => {
    const { tunnel } = await harness({ perMinute: 2 })
    for (const expected of [403, 403, 429]) {
      const { head } = await tunnel('10.0.0.1:443')
      expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${expected} `))
    }
  })

  test("a tunnel is allowed only by the owner's list, if there is one", async () => {
    const far = await farEnd((socket) => socket.end('x'))
    const { tunnel, lookups } = await harness({
      ports: [far.port],
      isHostAllowed: (host) => host === 'site.test',
    })
    expect((await tunnel(`site.test:${far.port}`)).head).toMatch(/ 200 /)
    const { head } = await tunnel(`else.test:${far.port}`)
    expect(head).toMatch(/^HTTP\/1\.1 403 The agent may not connect to this host/)
    expect(lookups).toEqual(['site.test'])
  })
})

describe('a connection to the proxy', () => {
  test('a connection that sends its headers too slowly is closed', async () => {
    const { port } = await harness({ headersTimeoutMs: 300 })
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write('CONNECT site.test:443 HTTP/1.1\r\n')
    const drip = setInterval(() => socket.writable && socket.write('X-A: b\r\n'), 40)
    const closed = closeOf(socket).then(() => 'closed')
    expect(await Promise.race([closed, sleep(10_000, 'still open', { ref: false })])).toBe('closed')
    clearInterval(drip)
  })

  test.each([
    ['more headers than it reads', `GET http://site.test/ HTTP/1.1\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`, 413],
    ['no HTTP', 'EHLO mail\r\n\r\n', 400],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['a request of its own', `GET / HTTP/1.1\r\n${proxyAuthorization('scout-program')}\r\n\r\n`, 400],
    [
      'https in absolute form',
      `GET https://site.test/ HTTP/1.1\r\n${proxyAuthorization('scout-program')}\r\n\r\n`,
      400,
    ],
    ['ftp', `GET ftp://site.test/ HTTP/1.1\r\n${proxyAuthorization('scout-program')}\r\n\r\n`, 400],
  ])('a connection with %s is answered with a problem', async (_, text, status) => {
    const { raw, lookups } = await harness()
    const answer = await raw(text)
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(problemOf(answer).code).toMatch(/bad-request|body-too-large/)
    expect(lookups).toEqual([])
  })
})
