import type { FastifyRequest } from 'fastify'
import type { Clock } from '@flotilla/protocol/clock'
import { personTokenPrefix, tokenStateOf } from '@flotilla/protocol/people'
import type { Person } from '@flotilla/protocol/people'
import { dashboardPageEndpoints } from '@flotilla/protocol/dashboard-api'
import { dashboardSurface, headers, sessionCookieName } from '@flotilla/protocol/headers'
import { Problem } from '@flotilla/protocol/problem'
import type { HumanCaller } from '../../access/index.ts'
import { isDirectCall, requireDirectCall } from './direct-call.ts'
import type { DirectCallDeps } from './direct-call.ts'
import type { KnownPeople } from './known-people.ts'
import { requireMeantHome } from './meant-home.ts'
import type { OwnHome } from './meant-home.ts'
import { isValidSession, readCookie } from './session-cookie.ts'

export interface HumanGateDeps {
  readonly clock: Clock
  /** See `readAccessToken`. Called for each request. */
  readonly accessToken: () => string | null
  readonly home: OwnHome
  /** Null for an API that other machines reach: there a cookie or a personal token is the only way in. */
  readonly direct: DirectCallDeps | null
  readonly people: Pick<KnownPeople, 'broken' | 'byToken' | 'byUser' | 'ownerBy'>
}

export type HumanGate = (request: FastifyRequest) => HumanCaller

/**
 * Authenticates callers of the people's API. A personal token authenticates its person and no other, from
 * anywhere. Without a token and self-hosted, a direct caller on this machine is its owner, or the person
 * whom the file names for another account. Hosted (the access token file exists), a caller with a valid
 * session cookie is the owner. Writes require a header that no HTML form can send. Requests of a page of
 * another origin are refused, except that a link from it may open a page of the dashboard.
 */
export function createHumanGate(deps: HumanGateDeps): HumanGate {
  return (request) => {
    const token = personalToken(request)
    const named = token === null ? withoutToken(deps, request) : ofToken(deps, token)
    refuseForeignPages(request)
    requireMeantHome(request, deps.home)
    const channel = channelOf(request)
    if (named !== null) {
      const expiresAt = token === null ? null : named.token_expires_at
      return {
        ...callerOf(deps, request, { person: named, channel }),
        ...(expiresAt === null ? {} : { expiresAt: Date.parse(expiresAt) }),
      }
    }
    const isHosted = deps.accessToken() !== null
    const isLocal = deps.direct !== null && (!isHosted || isDirectCall(request, deps.direct))
    const owner = deps.people.ownerBy(isHosted ? 'session' : 'local')
    return {
      kind: 'human',
      channel,
      role: 'owner',
      ...(owner === null ? {} : { person: owner }),
      ...(isLocal ? { local: true } : {}),
    }
  }
}

/** Returns the channel, which names conversations and rows of the audit log; the channel grants no rights. */
function channelOf(request: FastifyRequest): string {
  if (request.headers['user-agent']?.startsWith('flotilla-cli')) return 'cli'
  return request.headers[headers.requestedWith] === dashboardSurface ? 'dashboard' : 'api'
}

/** Returns the caller for a person in the people file. The name separates their conversations and keys. */
function callerOf(
  deps: HumanGateDeps,
  request: FastifyRequest,
  { person, channel }: { readonly person: Person; readonly channel: string },
): HumanCaller {
  const { name, role, agents } = person
  const isLocal = role === 'owner' && deps.direct !== null && isDirectCall(request, deps.direct)
  return {
    kind: 'human',
    channel,
    user: name,
    role,
    person: name,
    ...(role === 'member' ? { agents } : {}),
    ...(isLocal ? { local: true } : {}),
  }
}

/** The personal token of a call, or null without one; tokens of agents are refused here. */
function personalToken({ headers: sent }: FastifyRequest): string | null {
  const { authorization } = sent
  const bearer = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (bearer?.startsWith(personTokenPrefix) === true && sent['x-api-key'] === undefined) return bearer
  if (/^bearer\b/i.test(authorization ?? '') || sent['x-api-key'] !== undefined) {
    // Agents' tokens and unknown tokens get the same refusal, so that it reveals nothing.
    throw new Problem('unauthenticated', {
      detail: `the token is not a personal token, which begins with ${personTokenPrefix}; tokens of agents are not accepted on this API`,
      repair: 'Send your personal token as “Authorization: Bearer TOKEN”, or call without a token.',
    })
  }
  return null
}

/** An invalid token is rejected even if none is required, because the caller meant to authenticate. */
function ofToken({ people, clock }: HumanGateDeps, token: string): Person {
  const person = people.byToken(token)
  if (person && tokenStateOf(person, clock.now()) === 'expired') {
    throw new Problem('unauthenticated', {
      detail: `the personal token of ${person.name} expired at ${person.token_expires_at}`,
      repair: `Ask an owner of the fleet for a new token: flotilla people rotate ${person.name} prints one.`,
    })
  }
  if (person) return person
  throw new Problem('unauthenticated', {
    detail:
      people.broken() === null
        ? 'the personal token is not valid, or no longer valid'
        : 'no personal token is accepted while config/people.json is invalid',
    repair: 'Ask an owner of the fleet for a token: flotilla people rotate NAME prints a new one.',
  })
}

/** The person who sent a request without a token; null for the owner. */
function withoutToken(deps: HumanGateDeps, request: FastifyRequest): Person | null {
  const token = deps.accessToken()
  if (token !== null) {
    requireSession(deps, request, token)
    return null
  }
  if (deps.direct === null) {
    throw new Problem('unauthenticated', { detail: 'this API needs an access token file on its machine' })
  }
  const account = accountOf(deps, request, deps.direct)
  if (account === null) requireDirectCall(request, deps.direct)
  return account
}

/**
 * The person whose account the calling program runs under; null if the file names no person for the account.
 */
function accountOf(
  { people }: HumanGateDeps,
  request: FastifyRequest,
  direct: DirectCallDeps,
): Person | null {
  const user = direct.userOf(request.socket)
  if (typeof user !== 'number' || direct.isOwner(user)) return null
  const person = people.byUser(user)
  // The call must meet all conditions of a direct call, except that the account need not be the owner's.
  if (person) requireDirectCall(request, { ...direct, isOwner: () => true })
  return person
}

function requireSession({ clock }: HumanGateDeps, request: FastifyRequest, token: string): void {
  // With an empty key, every client could sign a valid cookie.
  if (token === '') {
    throw new Problem('unauthenticated', { detail: 'the access token file is missing, empty or unreadable' })
  }
  const cookie = readCookie(request.headers.cookie, sessionCookieName)
  if (!cookie || !isValidSession(cookie, token, clock.now())) {
    throw new Problem('unauthenticated', { detail: `this API requires a valid ${sessionCookieName} cookie` })
  }
}

/** Values with which a browser marks requests of this origin or of the person; all others come from foreign pages. */
const ownSites: ReadonlySet<unknown> = new Set(['same-origin', 'none'])

const pageRoutes: ReadonlySet<string> = new Set(
  Object.values(dashboardPageEndpoints).map(({ method, path }) => `${method} ${path}`),
)

/**
 * A link that the person follows from another page to one of the dashboard. The response is shown only to
 * the person.
 */
function opensPage({ headers: sent, routeOptions }: FastifyRequest): boolean {
  const isFollowed = sent['sec-fetch-mode'] === 'navigate' && sent['sec-fetch-dest'] === 'document'
  return isFollowed && pageRoutes.has(routeOptions?.config.route ?? '')
}

function foreignPage(): Problem {
  return new Problem('host-refused', { detail: 'a page of another origin may not call this API' })
}

/** Reads are refused as well: a read can wake a hibernated agent. Requests for an image have no `Origin`. */
function refuseForeignPages(request: FastifyRequest): void {
  const origin = request.headers.origin
  if (
    origin !== undefined &&
    origin !== `http://${request.headers.host}` &&
    origin !== `https://${request.headers.host}`
  ) {
    throw foreignPage()
  }
  if (!ownSites.has(request.headers['sec-fetch-site'] ?? 'none') && !opensPage(request)) throw foreignPage()
  const writes = request.method !== 'GET' && request.method !== 'HEAD'
  if (writes && !request.headers[headers.requestedWith]) {
    throw new Problem('denied', {
      detail: 'the request changes something but has no header X-Requested-With',
      repair: "Send the header with any value, for example curl -H 'X-Requested-With: curl'.",
    })
  }
}
