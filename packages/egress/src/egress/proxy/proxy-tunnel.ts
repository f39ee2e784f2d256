import { connect, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { Problem } from '@flotilla/protocol/problem'
import { openTunnel } from '@flotilla/foundation/platform'
import { textOf } from '../policy/destination.ts'
import type { Destination } from '../policy/destination.ts'
import { pinnedLookup } from '../policy/check-destination.ts'
import type { Route } from '../policy/choose-route.ts'
import type { CheckedTunnel } from './open-tunnel.ts'

/** Timeout for all addresses of a name together, in milliseconds. */
export const connectTimeoutMs = 10_000
/** How long one of several addresses is tried alone, in milliseconds. */
const addressTimeoutMs = 1500

/**
 * Connects by the chosen route. Rejects with the problem `upstream-failed` or `upstream-timeout`, or the signal's
 * reason.
 */
export async function dial(
  { tunnel, route }: { readonly tunnel: Pick<CheckedTunnel['tunnel'], 'destination'>; readonly route: Route },
  signal: AbortSignal,
): Promise<Socket> {
  signal.throwIfAborted()
  if (route.proxy !== null) return dialThrough(route.proxy, tunnel.destination, signal)
  const { addresses } = route
  const { host, port } = tunnel.destination
  const socket = connect({
    host,
    port,
    lookup: pinnedLookup(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: addressTimeoutMs,
    allowHalfOpen: true,
    noDelay: true,
  })
  const giveUp = () => socket.destroy()
  signal.addEventListener('abort', giveUp, { once: true })
  socket.setTimeout(connectTimeoutMs, () =>
    socket.destroy(
      new Problem('upstream-timeout', { detail: `no connection within ${connectTimeoutMs} ms` }),
    ),
  )
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
      socket.once('close', () => reject(new Error('closed')))
    })
    socket.setTimeout(0).removeAllListeners('timeout')
    return socket
  } catch (error) {
    socket.on('error', () => {}).destroy()
    if (signal.aborted) throw signal.reason
    if (error instanceof Problem) throw error
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
    throw new Problem('upstream-failed', {
      detail: `${textOf(tunnel.destination)} cannot be reached${code}`,
      cause: error,
    })
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

/** Connects through a proxy; `openTunnel` limits the wait for the proxy. */
function dialThrough(
  { via, host }: NonNullable<Route['proxy']>,
  destination: Destination,
  signal: AbortSignal,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const answered = new AbortController()
    const giveUp = openTunnel({ proxy: via, host, port: destination.port }, (error, socket) => {
      answered.abort()
      if (socket === null) {
        const detail = `${textOf(destination)} cannot be reached: ${error?.message ?? 'no connection'}`
        reject(new Problem('upstream-failed', { detail, cause: error }))
        return
      }
      // Through a proxy too, the server may stop sending and continue to read.
      socket.allowHalfOpen = true
      resolve(socket)
    })
    const cut = (): void => {
      giveUp()
      reject(signal.reason)
    }
    signal.addEventListener('abort', cut, { once: true, signal: answered.signal })
  })
}

/**
 * Copies bytes between both ends until both are closed or the signal aborts. Each end may stop sending and continue
 * to read; a slow receiver slows its sender; a broken end also closes the other.
 */
export async function joinEnds(
  near: Duplex,
  far: Socket,
  { head, signal }: { readonly head: Uint8Array; readonly signal: AbortSignal },
): Promise<void> {
  // Closes with a reset, so that no client takes a partial transfer for the whole.
  const cut = () => {
    for (const end of [near, far]) {
      // A connection inside TLS, as to an https proxy, cannot be reset.
      if (end instanceof Socket && !(end instanceof TLSSocket)) end.resetAndDestroy()
      else end.destroy()
    }
  }
  const closed = Promise.all([closeOf(near), closeOf(far)])
  for (const end of [near, far]) end.on('error', cut)
  // Delivers what the server sent before it closed.
  far.once('close', () => (far.readableEnded ? finish(near) : cut()))
  near.once('close', () => (near.readableEnded ? finish(far) : cut()))
  signal.addEventListener('abort', cut, { once: true })
  if (signal.aborted || far.destroyed || near.destroyed) cut()
  if (head.length > 0) far.write(head)
  near.pipe(far)
  far.pipe(near)
  await closed
  signal.removeEventListener('abort', cut)
}

/** Ends the stream and destroys it once everything was written. */
function finish(end: Duplex): void {
  if (end.writableFinished || end.destroyed) end.destroy()
  else end.end(() => end.destroy())
}

function closeOf(end: Duplex): Promise<void> {
  return new Promise((resolve) => {
    if (end.closed) resolve()
    else end.once('close', () => resolve())
  })
}
