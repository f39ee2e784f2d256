import type { CheckEffect } from '../../identity/src/policy/index.ts'
import { allowedEffects } from './allowed-effects.ts'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { LookupAddress } from 'node:dns'
import { Problem } from '@flotilla/protocol/problem'
import { collectJournal } from '../../../tests/support/collected-ports.ts'
import { silentLog } from '../../foundation/src/platform/log.ts'
import type { OutboundProxies } from '../../foundation/src/platform/proxied-connections.ts'
import { createCallRate } from '../../identity/src/access/call-rate.ts'
import type { RunTicket } from '../../identity/src/access/run-ticket.ts'
import { openDatabase } from '../../foundation/src/storage/database.ts'
import { allMigrations } from '../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../foundation/src/storage/migrate.ts'
import { systemClock } from '../../foundation/src/platform/system-clock.ts'
import { isPublicAddress } from '../../egress/src/egress/policy/public-addresses.ts'
import { createConnectProxy } from '../../egress/src/egress/proxy/connect-proxy.ts'
import { createEgressCountTable } from '../../egress/src/egress/proxy/egress-count-table.ts'
import { createEgressCounts } from '../../egress/src/egress/proxy/egress-counts.ts'
import { createChooseRoute } from '../../egress/src/egress/policy/choose-route.ts'
import type { RouteDeps } from '../../egress/src/egress/policy/choose-route.ts'
import { createOpenTunnel } from '../../egress/src/egress/proxy/open-tunnel.ts'
import { createTunnels } from '../../egress/src/egress/proxy/tunnels.ts'
import type { Inspector } from '../../egress/src/egress/proxy/inspected-connection.ts'
import { createProxyGate } from '../../egress/src/egress/proxy/proxy-gate.ts'

/** A forward proxy on loopback, for tests: real sockets; names, tokens and runs are fakes. */
export interface ProxyHarness {
  readonly port: number
  readonly lookups: string[]
  readonly journal: ReturnType<typeof collectJournal>
  readonly counts: ReturnType<typeof createEgressCounts>
  /** Agents with a live run; `scout` and `other` at first. */
  readonly working: Set<string>
  /** Valid tokens, by agent and kind, such as `scout-program`. */
  readonly tokens: Map<string, { readonly agentId: string; readonly token: 'door' | 'program' }>
  readonly held: { now: number }
  openTunnels(): number
  cutAgent(agentId: string): void
  /** Sends `text` on its own connection and returns everything until the proxy closes it, or the timeout. */
  raw(text: string, patienceMs?: number): Promise<string>
  /** Requests a tunnel to `target`; resolves to the connection and the head of the answer. */
  tunnel(target: string, token?: string): Promise<{ readonly socket: Socket; readonly head: string }>
  close(): Promise<void>
}

export interface ProxyHarnessOptions {
  readonly ports?: readonly number[]
  readonly resolve?: RouteDeps['resolve']
  readonly isHostAllowed?: (host: string) => boolean
  readonly checkEffect?: CheckEffect
  readonly denied?: readonly string[]
  readonly perMinute?: number
  readonly proxies?: OutboundProxies
  readonly proxyResolvesNames?: boolean
  readonly headersTimeoutMs?: number
  readonly inspector?: Inspector
}

export async function aProxy(options: ProxyHarnessOptions = {}): Promise<ProxyHarness> {
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const journal = collectJournal()
  const lookups: string[] = []
  const working = new Set(['scout', 'other'])
  const tokens: ProxyHarness['tokens'] = new Map([
    ['scout-program', { agentId: 'scout', token: 'program' }],
    ['scout-door', { agentId: 'scout', token: 'door' }],
    ['other-program', { agentId: 'other', token: 'program' }],
  ])
  const held = { now: 0 }
  const liveRunOf = (agentId: string): RunTicket | null =>
    working.has(agentId)
      ? {
          runId: `run_${agentId}`,
          agentId,
          fence: 1,
          taskId: null,
          origin: { kind: 'human', channel: 'cli' },
          budgetUsd: null,
          budgetTokens: null,
        }
      : null
  const counts = createEgressCounts({
    table: createEgressCountTable(database),
    database,
    journal,
    clock: systemClock,
    log: silentLog,
  })
  const tunnels = createTunnels({
    clock: systemClock,
    counts,
    isLive: ({ caller, token }) => working.has(caller.agentId) && tokens.has(token),
    holdLease: () => {
      held.now++
      return () => void held.now--
    },
  })
  const resolve =
    options.resolve ??
    (async (name: string): Promise<readonly LookupAddress[]> => {
      lookups.push(name)
      if (!name.endsWith('.test')) throw new Error(`ENOTFOUND ${name}`)
      return [{ address: name.startsWith('inside') ? '10.1.2.3' : '127.0.0.1', family: 4 }]
    })
  const proxy = createConnectProxy({
    gate: createProxyGate({ verifyToken: (token) => tokens.get(token) ?? null, liveRunOf }),
    openTunnel: createOpenTunnel({
      checkEffect: options.checkEffect ?? allowedEffects,
      tool: 'connect',
      needs: { do: 'call-api', api: 'http' },
      guard: (caller) => {
        if (caller.kind === 'agent' && options.denied?.includes(caller.agentId)) throw new Problem('denied')
      },
      rate: createCallRate({ clock: systemClock, perMinute: () => options.perMinute ?? 6000 }),
      tunnels,
      counts,
      routesFor: () =>
        createChooseRoute({
          resolve,
          // The servers of these tests are on loopback, at this one address.
          isAllowed: (address) => address === '127.0.0.1' || isPublicAddress(address),
          ...(options.ports ? { allowedPorts: options.ports } : {}),
          ...(options.proxies ? { proxies: options.proxies } : {}),
          ...(options.proxyResolvesNames ? { proxyResolvesNames: true } : {}),
          ...(options.isHostAllowed ? { isHostAllowed: options.isHostAllowed } : {}),
        }),
    }),
    tunnels,
    newRequestId: () => 'request-1',
    clock: systemClock,
    log: silentLog,
    bound: () => {},
    inspector: () => options.inspector ?? null,
    ...(options.headersTimeoutMs ? { headersTimeoutMs: options.headersTimeoutMs } : {}),
  })
  await proxy.listen({ port: 0, host: '127.0.0.1' })
  const closing = new AbortController()
  const running = tunnels.run(closing.signal)
  const port = proxy.port()
  const clients = new Set<Socket>()

  return {
    port,
    lookups,
    journal,
    counts,
    working,
    tokens,
    held,
    openTunnels: tunnels.open,
    cutAgent: (agentId) => tunnels.cut(new Problem('cancelled'), agentId),
    raw: async (text, patienceMs = 30_000) => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      const chunks: Buffer[] = []
      socket.on('data', (chunk: Buffer) => chunks.push(chunk))
      socket.on('error', () => {})
      socket.setTimeout(patienceMs, () => socket.destroy())
      socket.write(text, 'latin1')
      await new Promise((resolve) => socket.once('close', resolve).once('end', () => socket.end()))
      return Buffer.concat(chunks).toString('latin1')
    },
    tunnel: async (target, token = 'scout-program') => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      socket.on('error', () => {})
      socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${proxyAuthorization(token)}\r\n\r\n`)
      clients.add(socket)
      return { socket, head: await answerHead(socket) }
    },
    close: async () => {
      for (const socket of clients) socket.destroy()
      await proxy.close()
      closing.abort()
      await running
      database.close()
    },
  }
}

/** Reads the head of an answer, and the body of a refusal; bytes after the head of a tunnel stay in the socket. */
async function answerHead(socket: Socket): Promise<string> {
  let text = ''
  for (;;) {
    const chunk = socket.read() as Buffer | null
    if (chunk === null) {
      if (socket.readableEnded || socket.destroyed) return text
      await new Promise((resolve) =>
        socket.once('readable', resolve).once('end', resolve).once('close', resolve),
      )
      continue
    }
    text += chunk.toString('latin1')
    const end = text.indexOf('\r\n\r\n') + 4
    if (end < 4 || !text.startsWith('HTTP/1.1 200')) {
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? Number.NaN)
      if (end >= 4 && text.length >= end + length) return text
      continue
    }
    if (text.length > end) socket.unshift(Buffer.from(text.slice(end), 'latin1'))
    return text.slice(0, end)
  }
}

export function proxyAuthorization(token: string, user = 'scout'): string {
  return `Proxy-Authorization: Basic ${Buffer.from(`${user}:${token}`).toString('base64')}`
}

/** A TCP server on loopback with the given handler. */
export async function aFarEnd(
  serve: (socket: Socket) => void,
): Promise<{ readonly port: number; readonly sockets: Socket[]; close(): Promise<void> }> {
  const sockets: Socket[] = []
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    serve(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
