import { allowedEffects } from './allowed-effects.ts'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { Problem } from '@flotilla/protocol/problem'
import type { CheckDestinationDeps } from '../../egress/src/egress/policy/check-destination.ts'
import { createForwardProxy } from '../../egress/src/egress/proxy/forward-proxy.ts'
import { silentLog } from '../../foundation/src/platform/log.ts'
import { systemClock } from '../../foundation/src/platform/system-clock.ts'
import { aLedgerHarness } from './ledger-harness.ts'
import { proxyAuthorization } from './proxy-harness.ts'

export interface BrowserProxyHarness {
  /** Requests a tunnel to `target`; resolves to the connection and the head of the answer. */
  readonly ask: (
    target: string,
    token: string | null,
  ) => Promise<{ readonly head: string; readonly socket: Socket }>
  /** Opens a connection to the proxy itself. */
  readonly dial: () => Socket
  /** Agents that may use a browser; only `ada` at first. */
  readonly may: Set<string>
  /** The agents of browser tokens: `ada-browser`, `bob-browser`. */
  readonly browsers: Map<string, string>
  readonly close: () => Promise<void>
}

/** The browser proxy alone, on loopback: sockets are real; tokens, permissions and the filter's rules are fakes. */
export async function aBrowserProxy(filter: CheckDestinationDeps): Promise<BrowserProxyHarness> {
  const may = new Set(['ada'])
  const browsers = new Map([
    ['ada-browser', 'ada'],
    ['bob-browser', 'bob'],
  ])
  const ledger = aLedgerHarness()
  const { browserProxy, run } = createForwardProxy({
    checkEffect: allowedEffects,
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
      ports: { people: 8420, agentApi: 0, proxy: 0, open: [] },
    },
    verifyToken: (token) => (token === 'ada-program' ? { agentId: 'ada', token: 'program' } : null),
    liveRunOf: () => null,
    holdLease: () => () => {},
    rate: { take: () => {} },
    browserRate: { take: () => {} },
    browserOf: (token) => browsers.get(token) ?? null,
    filterFor: () => filter,
  })
  await browserProxy.listen({ port: 0, host: '127.0.0.1' })
  const stop = new AbortController()
  const running = run(stop.signal)
  const dial = (): Socket => connect(browserProxy.port(), '127.0.0.1').on('error', () => {})
  return {
    may,
    browsers,
    dial,
    ask: (target, token) =>
      new Promise((resolve) => {
        const socket = dial()
        const proof = token === null ? '' : `${proxyAuthorization(token, 'browser')}\r\n`
        socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${proof}\r\n`)
        socket.once('data', (chunk: Buffer) => resolve({ head: chunk.toString('latin1'), socket }))
      }),
    close: async () => {
      await browserProxy.close()
      stop.abort()
      await running
      await ledger.ledger.close()
    },
  }
}
