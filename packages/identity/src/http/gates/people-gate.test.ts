import { createHmac } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { describe, expect, test } from 'vitest'
import type { Person } from '@flotilla/protocol/people'
import { createHumanGate } from './people-gate.ts'

const nowMs = 1_700_000_000_000
const home = { id: 'a', folder: '/home/a' }

const ann: Person = {
  name: 'ann',
  role: 'member',
  agents: ['ada'],
  identities: ['user:2000'],
  token_sha256: null,
  token_expires_at: null,
}
const people = {
  broken: (): string | null => null,
  byToken: (token: string): Person | null => (token === 'flp_ann' ? ann : null),
  byUser: (user: number) => (user === 2000 ? ann : null),
  ownerBy: (): string | null => null,
}

function gateWith(accessToken: string | null, user: number | null | 'unknown' = 1000) {
  return createHumanGate({
    clock: { now: () => nowMs, sleep: async () => {} },
    accessToken: () => accessToken,
    home,
    people,
    direct: { port: () => 8420, userOf: () => user, isOwner: (id) => id === 1000 },
  })
}

/** The parts of a request that the gate reads. */
function aRequest(
  headers: Record<string, string> = {},
  method = 'GET',
  { remoteAddress = '127.0.0.1', route }: { remoteAddress?: string; route?: string | undefined } = {},
) {
  const request = {
    method,
    headers: { host: '127.0.0.1:8420', ...headers },
    socket: { remoteAddress },
    raw: { httpVersion: '1.1' },
    routeOptions: { config: { route } },
  }
  return request as unknown as FastifyRequest
}

function cookieOf(token: string): string {
  const key = createHmac('sha256', token).update('ol-cookie-signing').digest()
  const expiry = String(nowMs / 1000 + 600)
  return `ol_session=${expiry}.${createHmac('sha256', key).update(expiry).digest('hex')}`
}

describe('without an access token file', () => {
  test('a direct call from this machine is let in', () => {
    expect(gateWith(null)(aRequest())).toEqual({ kind: 'human', channel: 'api', role: 'owner', local: true })
  })

  test.each([
    ['another machine', 'unauthenticated', aRequest({}, 'GET', { remoteAddress: '192.0.2.1' })],
    ['a foreign Host', 'host-refused', aRequest({ host: 'evil.example:8420' })],
    ['a proxy in between', 'host-refused', aRequest({ 'x-forwarded-for': '192.0.2.1' })],
    ['a page of another origin', 'host-refused', aRequest({ origin: 'http://evil.example' })],
    ['a page of no origin', 'host-refused', aRequest({ origin: 'null' })],
    ['a write without the header that no form can send', 'denied', aRequest({}, 'POST')],
  ])('%s is refused as %s', (_who, code, request) => {
    expect(() => gateWith(null)(request)).toThrow(expect.objectContaining({ code }))
  })
})

describe('who is the owner where the mesh is hosted', () => {
  const token = 'a token'
  const cookie = { cookie: cookieOf(token) }
  test.each([
    ['a direct call of its own user', 1000, aRequest(cookie), true],
    ['another user of this machine', 33, aRequest(cookie), undefined],
    ['an unknown user', 'unknown', aRequest(cookie), undefined],
    ['another machine', 1000, aRequest(cookie, 'GET', { remoteAddress: '192.0.2.1' }), undefined],
    ['a proxy', 1000, aRequest({ ...cookie, 'x-forwarded-for': '192.0.2.1' }), undefined],
    ['a foreign Host', 1000, aRequest({ ...cookie, host: 'fleet.example' }), undefined],
  ] as const)('%s with a session', (...[, user, request, owner]) => {
    const caller = gateWith(token, user)(request)
    expect(caller).toMatchObject({ kind: 'human' })
    expect(caller.role).toBe('owner')
    expect(caller.local).toBe(owner)
  })
})

describe('which home a call means', () => {
  const wrong = expect.objectContaining({ code: 'wrong-home' })

  test('which home a call means is this one, or nothing is said of it', () => {
    expect(gateWith(null)(aRequest({ 'x-flotilla-home': 'a' }))).toMatchObject({ kind: 'human' })
    for (const meant of ['b', '', 'a ', 'A', 'x'.repeat(900), 'a\u001B[2J']) {
      expect(() => gateWith(null)(aRequest({ 'x-flotilla-home': meant }))).toThrow(wrong)
    }
  })

  test('which home a call means is not revealed to unauthenticated callers', () => {
    const stranger = aRequest({ 'x-flotilla-home': 'b' }, 'GET', { remoteAddress: '192.0.2.1' })
    expect(() => gateWith(null)(stranger)).toThrow(expect.objectContaining({ code: 'unauthenticated' }))
  })
})

describe('the user of the calling program', () => {
  const refused = expect.objectContaining({ code: 'unauthenticated' })

  test('another user’s program on this machine is refused, and one that has hung up', () => {
    expect(() => gateWith(null, 33)(aRequest())).toThrow(refused)
    expect(() => gateWith(null, null)(aRequest())).toThrow(refused)
  })

  test('a system that cannot identify users admits local callers', () => {
    expect(gateWith(null, 'unknown')(aRequest())).toMatchObject({ kind: 'human' })
  })

  test('HTTP/1.0, as proxies speak it by default, is refused', () => {
    const request = aRequest()
    Object.assign(request.raw, { httpVersion: '1.0' })
    expect(() => gateWith(null)(request)).toThrow(expect.objectContaining({ code: 'host-refused' }))
  })

  test('tokens of agents are refused, even with a valid cookie', () => {
    for (const token of [null, 'token']) {
      const cookie = cookieOf('token')
      for (const held of [{ authorization: 'Bearer x' }, { 'x-api-key': 'x' }]) {
        expect(() => gateWith(token)(aRequest({ cookie, ...held }))).toThrow(refused)
      }
    }
  })

  test('an API for other machines requires an access token from local callers too', () => {
    const gate = createHumanGate({
      clock: { now: () => nowMs, sleep: async () => {} },
      accessToken: () => null,
      home,
      people,
      direct: null,
    })
    expect(() => gate(aRequest())).toThrow(refused)
  })
})

describe('with an access token file', () => {
  test('with an access token file, its cookie is admitted, through a proxy too', () => {
    const request = aRequest({ cookie: cookieOf('token'), 'x-forwarded-for': '192.0.2.1' })
    expect(gateWith('token')(request)).toMatchObject({ kind: 'human' })
  })

  test('loopback alone is not enough, nor is the cookie of another token', () => {
    const refused = expect.objectContaining({ code: 'unauthenticated' })
    expect(() => gateWith('token')(aRequest())).toThrow(refused)
    expect(() => gateWith('token')(aRequest({ cookie: cookieOf('other') }))).toThrow(refused)
  })

  test('an empty access token file admits no caller, even with a cookie signed with the empty token', () => {
    expect(() => gateWith('')(aRequest({ cookie: cookieOf('') }))).toThrow(
      expect.objectContaining({ code: 'unauthenticated' }),
    )
  })
})

describe('a personal token', () => {
  const bearer = { authorization: 'Bearer flp_ann' }
  const asAnn = { kind: 'human', channel: 'api', user: 'ann', role: 'member', person: 'ann', agents: ['ada'] }

  test.each([
    ['from this machine', null, 1000, aRequest(bearer)],
    ['of a program of another account', null, 33, aRequest(bearer)],
    ['through a proxy', null, 1000, aRequest({ ...bearer, 'x-forwarded-for': '192.0.2.1' })],
    ['from another machine', null, null, aRequest(bearer, 'GET', { remoteAddress: '192.0.2.1' })],
    ['under a name of its own', null, 1000, aRequest({ ...bearer, host: 'fleet.example' })],
    ['beside the session of an owner', 'token', 1000, aRequest({ ...bearer, cookie: cookieOf('token') })],
    ['where the mesh is hosted', 'token', 1000, aRequest(bearer)],
  ] as const)('%s authenticates its person only', (...[, token, user, request]) => {
    expect(gateWith(token, user)(request)).toEqual(asAnn)
  })

  test('a personal token opens an API for other machines too', () => {
    const gate = createHumanGate({
      clock: { now: () => nowMs, sleep: async () => {} },
      accessToken: () => 'token',
      home,
      people,
      direct: null,
    })
    expect(gate(aRequest(bearer, 'GET', { remoteAddress: '192.0.2.1' }))).toEqual(asAnn)
  })

  test('a personal token is refused from its end on, with who it was of and what to do', () => {
    const token_sha256 = 'a'.repeat(64)
    const until = (ms: number) => ({
      ...people,
      byToken: () => ({ ...ann, token_sha256, token_expires_at: new Date(ms).toISOString() }),
    })
    const gate = (known: typeof people) =>
      createHumanGate({
        clock: { now: () => nowMs, sleep: async () => {} },
        accessToken: () => null,
        home,
        people: known,
        direct: { port: () => 8420, userOf: () => 1000, isOwner: () => true },
      })
    expect(gate(until(nowMs + 1))(aRequest(bearer))).toEqual({ ...asAnn, expiresAt: nowMs + 1 })
    for (const ended of [nowMs, nowMs - 1])
      expect(() => gate(until(ended))(aRequest(bearer))).toThrow(
        expect.objectContaining({
          code: 'unauthenticated',
          detail: expect.stringMatching(/token of ann expired at 2023/),
          repair: expect.stringContaining('flotilla people rotate ann'),
        }),
      )
  })

  test('an unknown token is refused, even where no token is required or with a session', () => {
    const refused = expect.objectContaining({ code: 'unauthenticated' })
    const wrong = { authorization: 'Bearer flp_bob' }
    expect(() => gateWith(null)(aRequest(wrong))).toThrow(refused)
    expect(() => gateWith('token')(aRequest({ ...wrong, cookie: cookieOf('token') }))).toThrow(refused)
    expect(() => gateWith(null)(aRequest({ ...bearer, 'x-api-key': 'x' }))).toThrow(refused)
  })

  test('a personal token does not spare a write its header, nor a foreign page its refusal', () => {
    expect(() => gateWith(null)(aRequest(bearer, 'POST'))).toThrow(
      expect.objectContaining({ code: 'denied' }),
    )
    expect(() => gateWith(null)(aRequest({ ...bearer, origin: 'http://evil.example' }))).toThrow(
      expect.objectContaining({ code: 'host-refused' }),
    )
  })
})

describe('an account of this machine that the file names', () => {
  test('an account of this machine that the file names is its person, by direct calls alone', () => {
    expect(gateWith(null, 2000)(aRequest())).toMatchObject({ person: 'ann', role: 'member' })
    const proxied = aRequest({ 'x-forwarded-for': '192.0.2.1' })
    expect(() => gateWith(null, 2000)(proxied)).toThrow(expect.objectContaining({ code: 'host-refused' }))
    const far = aRequest({}, 'GET', { remoteAddress: '192.0.2.1' })
    expect(() => gateWith(null, 2000)(far)).toThrow(expect.objectContaining({ code: 'unauthenticated' }))
  })

  test('an account of this machine that the file names opens nothing where the mesh is hosted', () => {
    expect(() => gateWith('token', 2000)(aRequest())).toThrow(
      expect.objectContaining({ code: 'unauthenticated' }),
    )
  })

  test('an account of this machine that the file names takes nothing from the owner of the machine', () => {
    expect(gateWith(null, 1000)(aRequest())).toMatchObject({ role: 'owner', local: true })
  })
})

describe('requests of a browser for a page of another site', () => {
  const link = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  const picture = { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }
  const ask = (headers: Record<string, string>, route: string, method = 'GET') =>
    gateWith(null)(aRequest({ 'x-requested-with': 'x', ...headers }, method, { route }))
  const workspace = 'GET /api/agents/{id}/workspace'
  const refused = expect.objectContaining({ code: 'host-refused' })

  test.each(['cross-site', 'same-site', '', 'new-word'])(
    'a request of a browser for a page of another site is refused from %j, on every route',
    (site) => {
      const from = { 'sec-fetch-site': site }
      for (const more of [
        picture,
        {},
        { ...link, 'sec-fetch-dest': 'iframe' },
        { ...link, 'sec-fetch-mode': 'cors' },
      ])
        for (const route of [workspace, 'GET /fleet', 'GET /ws/events', 'GET /api/events', 'GET /metrics'])
          expect(() => ask({ ...from, ...more }, route), route).toThrow(refused)
      for (const route of [
        workspace,
        'GET /assets/{name}',
        'GET /api/artifacts/{agent}/{name}',
        '',
        'POST /fleet',
      ])
        expect(() => ask({ ...from, ...link }, route, route.split(' ')[0]), route).toThrow(refused)
    },
  )

  test('a request of a browser for a page of another site opens a page of the dashboard where the person follows a link', () => {
    for (const site of ['cross-site', 'same-site'])
      for (const route of ['GET /', 'GET /fleet', 'GET /agents/{id}'])
        expect(ask({ 'sec-fetch-site': site, ...link }, route)).toMatchObject({ kind: 'human' })
  })

  test('a request of a browser for a page of another site is no matter for our own pages, the address bar and programs', () => {
    for (const from of [{ 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }, {}])
      for (const more of [picture, link])
        expect(ask({ ...from, ...more }, workspace)).toMatchObject({ kind: 'human' })
  })
})
