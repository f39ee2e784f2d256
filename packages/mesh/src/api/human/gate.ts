import type { FastifyRequest } from 'fastify'
import type { Clock } from '@flotilla/protocol/clock'
import { headers, sessionCookieName } from '@flotilla/protocol/headers'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller } from '../../policy/caller.ts'
import { isForwarded, isLoopbackAddress, isOwnHost } from '../loopback.ts'
import { isValidSession, readCookie } from './session-cookie.ts'

export interface HumanGateDeps {
  readonly clock: Clock
  /** Content of the access token file, or null where there is none (self-hosted). Read at each call. */
  readonly accessToken: () => string | null
  readonly port: () => number
}

export type HumanGate = (request: FastifyRequest) => Caller

/**
 * Who is on the people's door. Self-hosted: whoever calls directly from this machine. Hosted (the access token
 * file exists): whoever holds a valid session cookie. Writes want a header that no form can send, and a page of
 * another origin is refused in both cases.
 */
export function createHumanGate(deps: HumanGateDeps): HumanGate {
  return (request) => {
    const token = deps.accessToken()
    if (token === null) requireDirectLoopback(request, deps.port())
    else {
      // An empty key would sign for anybody.
      if (token === '') throw new Problem('unauthenticated', { detail: 'the access token file is empty' })
      const cookie = readCookie(request.headers.cookie, sessionCookieName)
      if (!cookie || !isValidSession(cookie, token, deps.clock.now())) {
        throw new Problem('unauthenticated', {
          detail: `this door wants a valid ${sessionCookieName} cookie`,
        })
      }
    }
    refuseForeignPages(request)
    const channel = request.headers['user-agent']?.startsWith('flotilla-cli') ? 'cli' : 'api'
    return { kind: 'human', channel }
  }
}

function requireDirectLoopback(request: FastifyRequest, port: number): void {
  if (!isLoopbackAddress(request.socket.remoteAddress)) {
    throw new Problem('unauthenticated', { detail: 'this door is open to this machine only' })
  }
  if (isForwarded(request.headers) || !isOwnHost(request.headers.host, port))
    throw new Problem('host-refused')
}

function refuseForeignPages(request: FastifyRequest): void {
  const origin = request.headers.origin
  if (
    origin !== undefined &&
    origin !== `http://${request.headers.host}` &&
    origin !== `https://${request.headers.host}`
  ) {
    throw new Problem('host-refused', { detail: 'a page of another origin may not call this door' })
  }
  const writes = request.method !== 'GET' && request.method !== 'HEAD'
  if (writes && !request.headers[headers.requestedWith]) {
    throw new Problem('denied', { detail: 'send the header X-Requested-With on every write' })
  }
}
