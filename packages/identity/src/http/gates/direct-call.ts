import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { Problem } from '@flotilla/protocol/problem'
import { isForwarded, isLoopbackAddress, isOwnHost } from './loopback.ts'

export interface DirectCallDeps {
  readonly port: () => number
  /** User id of the program at the other end; see `createPeerUsers`. */
  readonly userOf: (socket: Socket) => number | null | 'unknown'
  /** Whether a program of this user may act for the owner. */
  readonly isOwner: (userId: number) => boolean
}

/**
 * Requires that the caller is the owner's own program on this machine, without a proxy. Throws
 * `unauthenticated` for another machine or another user's program (including web servers), `host-refused`
 * for signs of a proxy: a forwarding header, a foreign Host, or HTTP/1.0, which proxies use for their
 * backends by default.
 */
export function requireDirectCall(request: FastifyRequest, deps: DirectCallDeps): void {
  if (!isLoopbackAddress(request.socket.remoteAddress)) {
    throw new Problem('unauthenticated', { detail: 'only this machine may call this API' })
  }
  const proxied = isForwarded(request.headers) || request.raw.httpVersion === '1.0'
  if (proxied || !isOwnHost(request.headers.host, deps.port())) throw new Problem('host-refused')
  const user = deps.userOf(request.socket)
  if (user === 'unknown') return
  if (user === null || !deps.isOwner(user)) {
    throw new Problem('unauthenticated', {
      detail:
        user === null
          ? 'the connection was closed before its user could be determined'
          : `user ${user} of this machine does not own this fleet; the owner may add the number ${user} to local_users in config/settings.json`,
    })
  }
}

/**
 * Whether `requireDirectCall` would admit the call, known for certain: if users cannot be identified, no
 * caller is the owner.
 */
export function isDirectCall(request: FastifyRequest, deps: DirectCallDeps): boolean {
  try {
    requireDirectCall(request, deps)
    return deps.userOf(request.socket) !== 'unknown'
  } catch {
    return false
  }
}
