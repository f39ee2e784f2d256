import type { FastifyRequest } from 'fastify'
import type { Clock } from '@flotilla/protocol/clock'
import { headers, sessionCookieName } from '@flotilla/protocol/headers'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller } from '../../access/index.ts'
import { isDirectCall, requireDirectCall } from './direct-call.ts'
import type { DirectCallDeps } from './direct-call.ts'
import { requireMeantHome } from './meant-home.ts'
import type { OwnHome } from './meant-home.ts'
import { isValidSession, readCookie } from './session-cookie.ts'

export interface HumanGateDeps {
  readonly clock: Clock
  /** See `readAccessToken`. Read at each call. */
  readonly accessToken: () => string | null
  readonly home: OwnHome
  /** Null for a door that other machines reach: there a cookie is the only way in. */
  readonly direct: DirectCallDeps | null
}

export type HumanGate = (request: FastifyRequest) => Caller

/**
 * Who is on the people's door. Self-hosted: whoever calls directly from this machine. Hosted (the access token
 * file exists): whoever holds a valid session cookie. Writes want a header that no form can send, and a page of
 * another origin is refused in both cases.
 */
export function createHumanGate(deps: HumanGateDeps): HumanGate {
  return (request) => {
    refuseAgents(request)
    const token = deps.accessToken()
    if (token === null) {
      if (deps.direct === null) {
        throw new Problem('unauthenticated', {
          detail: 'this door wants an access token file on its machine',
        })
      }
      requireDirectCall(request, deps.direct)
    } else {
      // An empty key would sign for anybody.
      if (token === '') {
        throw new Problem('unauthenticated', {
          detail: 'the access token file is missing, empty or unreadable',
        })
      }
      const cookie = readCookie(request.headers.cookie, sessionCookieName)
      if (!cookie || !isValidSession(cookie, token, deps.clock.now())) {
        throw new Problem('unauthenticated', {
          detail: `this door wants a valid ${sessionCookieName} cookie`,
        })
      }
    }
    refuseForeignPages(request)
    requireMeantHome(request, deps.home)
    const channel = request.headers['user-agent']?.startsWith('flotilla-cli') ? 'cli' : 'api'
    const isOwner = deps.direct !== null && (token === null || isDirectCall(request, deps.direct))
    return { kind: 'human', channel, ...(isOwner ? { owner: true } : {}) }
  }
}

/** What an agent may hold opens nothing here, wherever the call comes from. */
function refuseAgents(request: FastifyRequest): void {
  const { authorization } = request.headers
  if (/^bearer\b/i.test(authorization ?? '') || request.headers['x-api-key'] !== undefined) {
    throw new Problem('unauthenticated', { detail: 'tokens of agents are refused on this door' })
  }
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
