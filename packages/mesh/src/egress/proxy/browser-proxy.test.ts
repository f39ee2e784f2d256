import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { Problem } from '@flotilla/protocol/problem'
import { silentLog } from '../../platform/log.ts'
import { systemClock } from '../../platform/system-clock.ts'
import { aLedgerHarness } from '../../testing/ledger-harness.ts'
import { aFarEnd, proxyAuthorization } from '../../testing/proxy-harness.ts'
import { isPublicAddress } from '../policy/address-ranges.ts'
import { createForwardProxy } from './forward-proxy.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** The proxy of browsers alone, with one far end that the owner opened by its exact place. */
async function theProxy() {
  const far = await aFarEnd((socket) => void socket.write('hello'))
  const may = new Set(['ada'])
  const browsers = new Map([
    ['ada-browser', 'ada'],
    ['bob-browser', 'bob'],
  ])
  const ledger = aLedgerHarness()
  const { browserProxy, run } = createForwardProxy({
    kernel: {
      ...ledger,
      clock: systemClock,
      log: silentLog,
      guard: (caller) => {
        if (caller.kind !== 'agent' || !may.has(caller.agentId)) throw new Problem('denied')
      },
      decide: (caller) =>
        caller.kind === 'agent' && may.has(caller.agentId)
          ? { allowed: true }
          : { allowed: false, reason: 'no', field: 'can_use_browser' },
      randomToken: () => '',
      settings: () => {
        throw new Error('the filter is given')
      },
      ports: { agentDoor: 0, proxy: 0, open: [] },
    },
    verifyToken: (token) => (token === 'ada-program' ? { agentId: 'ada', token: 'program' } : null),
    liveRunOf: () => null,
    holdLease: () => () => {},
    rate: { take: () => {} },
    browserRate: { take: () => {} },
    browserOf: (token) => browsers.get(token) ?? null,
    filterFor: () => ({
      resolve: async () => [{ address: '10.1.2.3', family: 4 }],
      isAllowed: (address) => address === '127.0.0.1' || isPublicAddress(address),
      allowedPorts: [far.port],
    }),
  })
  await browserProxy.listen({ port: 0, host: '127.0.0.1' })
  const stop = new AbortController()
  const running = run(stop.signal)
  closing.push(async () => {
    await far.close()
    await browserProxy.close()
    stop.abort()
    await running
    await ledger.ledger.close()
  })
  const ask = (target: string, token: string | null): Promise<{ head: string; socket: Socket }> =>
    new Promise((resolve) => {
      const socket = connect(browserProxy.port(), '127.0.0.1')
      const proof = token === null ? '' : `${proxyAuthorization(token, 'browser')}\r\n`
      socket.on('error', () => {})
      socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${proof}\r\n`)
      socket.once('data', (chunk: Buffer) => resolve({ head: chunk.toString('latin1'), socket }))
    })
  return { ask, may, browsers, place: `127.0.0.1:${far.port}`, port: far.port }
}

test('an open browser goes out by its own token, and is cut off when it is closed', async () => {
  const { ask, browsers, place } = await theProxy()
  const { head, socket } = await ask(place, 'ada-browser')
  expect(head).toMatch(/^HTTP\/1\.1 200 /)
  const cut = new Promise((resolve) => socket.once('close', resolve))
  browsers.delete('ada-browser')
  await cut
  expect((await ask(place, 'ada-browser')).head).toMatch(/^HTTP\/1\.1 407 /)
})

test('whoever shows no token, or that of a program, is refused', async () => {
  heedsLesson(123)
  const { ask, place } = await theProxy()
  for (const token of [null, 'ada-program', 'guess']) {
    expect((await ask(place, token)).head).toMatch(/^HTTP\/1\.1 407 /)
  }
})

test('a browser whose agent may no longer have one is refused, and what it has open is cut off', async () => {
  const { ask, may, place } = await theProxy()
  expect((await ask(place, 'bob-browser')).head).toMatch(/^HTTP\/1\.1 403 /)
  const { socket } = await ask(place, 'ada-browser')
  const cut = new Promise((resolve) => socket.once('close', resolve))
  may.clear()
  await cut
})

test('what the filter refuses to agents it refuses to their browsers', async () => {
  const { ask, port } = await theProxy()
  expect((await ask(`inside.test:${port}`, 'ada-browser')).head).toContain('address-refused')
  expect((await ask('127.0.0.1:22', 'ada-browser')).head).toContain('port-refused')
})
