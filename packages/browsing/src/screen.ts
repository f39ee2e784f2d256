import type { Duplex } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sessionCookieName } from '@flotilla/protocol/headers'
import { Problem } from '@flotilla/protocol/problem'
import type { Action, Caller, Decision, Guard } from '@flotilla/identity/access'
import { takeLine } from '@flotilla/identity/http'
import type { BrowserSessions } from './sessions.ts'
import { browserLimits } from './browser-limits.ts'

const subProtocol = 'binary'
/** The time limit for connecting to the screen of a browser, in milliseconds. */
const openWithinMs = 10_000
/** The form of a WebSocket key (RFC 6455): 16 bytes as base64. */
const keyForm = /^[A-Za-z0-9+/]{22}==$/

/**
 * The WebSocket of a screen. Bytes pass unchanged and uncompressed, and a slow reader slows the sender
 * (lesson 120). Callers that may act on the agent may also control the screen, once they have taken over.
 */
export function createScreens(deps: {
  readonly sessions: BrowserSessions
  readonly guard: Guard
  readonly decide: (caller: Caller, action: Action) => Decision
}) {
  const { sessions } = deps
  const open = new Map<Duplex, string>()
  /** The watchers whose connection is still being opened. They already count as watchers. */
  const coming = new Set<{ readonly agentId: string }>()

  function requireRoom(agentId: string): void {
    const all = [...open.values(), ...[...coming].map((one) => one.agentId)]
    const own = all.filter((id) => id === agentId).length
    if (own < browserLimits.watchersPerBrowserMax && all.length < browserLimits.watchersMax) return
    throw new Problem('rate-limited', {
      detail: `${own} people watch this browser and ${all.length} watch any browser; at most ${browserLimits.watchersPerBrowserMax} and ${browserLimits.watchersMax} may watch`,
      retryAfterSeconds: 5,
    })
  }

  return {
    open: () => open.size,
    cutAll: () => {
      for (const line of open.keys()) line.destroy()
    },
    async serve(
      caller: Caller,
      agentId: string,
      { raw, reply }: { readonly raw: FastifyRequest; readonly reply: FastifyReply },
    ): Promise<void> {
      deps.guard(caller, { do: 'view-fleet' })
      const key = requirePlainAsk(raw)
      requireRoom(agentId)
      const { service, state } = sessions.of(agentId)
      if (service === null || state.kind !== 'live') {
        throw new Problem('conflict', {
          detail: `the browser of ${agentId} is not open`,
          repair: 'Take over the browser, which opens it, or wait until its agent uses it.',
        })
      }
      const mayControl = deps.decide(caller, { do: 'manage-agent', agentId }).allowed
      const place = { agentId }
      coming.add(place)
      const options = { key, signal: AbortSignal.timeout(openWithinMs) }
      const far = await service
        .screen(mayControl ? 'control' : 'view', options)
        .finally(() => coming.delete(place))
      const { line, head } = takeLine(raw, reply)
      const stopWatching = sessions.watch(agentId)
      open.set(line, agentId)
      const cut = (): void => {
        if (!open.delete(line)) return
        stopWatching()
        line.destroy()
        far.line.destroy()
      }
      for (const end of [line, far.line]) end.once('close', cut).on('error', cut)
      line.write(
        [
          'HTTP/1.1 101 Switching Protocols',
          'Upgrade: websocket',
          'Connection: Upgrade',
          `Sec-WebSocket-Accept: ${far.accept}`,
          `Sec-WebSocket-Protocol: ${subProtocol}`,
          '',
          '',
        ].join('\r\n'),
      )
      if (far.head.length > 0) line.write(far.head)
      if (head.length > 0) far.line.write(head)
      line.pipe(far.line)
      far.line.pipe(line)
      if (line.destroyed || far.line.destroyed) cut()
    },
  }
}

export type Screens = ReturnType<typeof createScreens>

/**
 * Refuses tokens in the address and as a sub-protocol: a caller authenticates as on the API. Returns the key of the
 * WebSocket. Throws the Problems `unauthenticated` and `bad-request`.
 */
function requirePlainAsk({ raw, query }: FastifyRequest): string {
  const offered = (raw.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
  if (
    Object.keys(query as object).length > 0 ||
    offered.some((name) => name !== '' && name !== subProtocol)
  ) {
    throw new Problem('unauthenticated', {
      detail: `the screen accepts no tokens, neither in the address nor as a sub-protocol: it requires the cookie ${sessionCookieName}, or a person on the machine of the mesh`,
    })
  }
  const key = raw.headers['sec-websocket-key'] ?? ''
  const asksRight =
    offered.includes(subProtocol) && keyForm.test(key) && raw.headers['sec-websocket-version'] === '13'
  if (!asksRight) {
    throw new Problem('bad-request', {
      detail: `the screen is a WebSocket of version 13 with the sub-protocol ${subProtocol}`,
    })
  }
  return key
}
