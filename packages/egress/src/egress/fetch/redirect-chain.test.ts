import { allowedEffects } from '../../../../testing/src/allowed-effects.ts'
import { httpRequestSchema } from '@flotilla/protocol/mesh-agent-api'
import { Problem } from '@flotilla/protocol/problem'
import * as fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { collectJournal } from '../../../../../tests/support/collected-ports.ts'
import { aCredentialRoom } from '../../../../../tests/support/credential-room.ts'
import { aLine } from '../../../../../tests/support/open-line.ts'
import { startWebServer } from '../../../../../tests/support/web-server.ts'
import type { WebServer } from '../../../../../tests/support/web-server.ts'
import { heedsLesson, verifies } from '../../../../../tests/verifies.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { isPublicAddress } from '../policy/public-addresses.ts'
import { createForwardRequest } from './forward-request.ts'
import { createPinnedFetch } from './pinned-fetch.ts'
import { ownLoop } from '../../../../testing/src/own-loop.ts'

/** The expected target of a redirect, written by hand and independent of the code under test. */
type Leads =
  | { readonly to: 'same origin' }
  | { readonly to: 'origin'; readonly host: 'a.test' | 'b.test'; readonly server: 0 | 1 }
  | { readonly to: 'nowhere'; readonly code: 'address-refused' | 'port-refused' | 'name-unresolved' }
  /** Not a valid address: the answer is no redirect. */
  | { readonly to: 'none' }

interface Hop {
  readonly location: (ports: readonly [number, number]) => string
  readonly leads: Leads
  readonly status: number
}

interface Seen {
  readonly host: string
  readonly method: string
  readonly body: string
  readonly secrets: readonly string[]
}

const same: Leads = { to: 'same origin' }
const refused: Leads = { to: 'nowhere', code: 'address-refused' }
const at = (host: 'a.test' | 'b.test', server: 0 | 1): Leads => ({ to: 'origin', host, server })
const places: readonly (readonly [Hop['location'], Leads])[] = [
  [() => '/next', same],
  [() => '?q', same],
  [([port]) => `http://a.test:${port}/again`, at('a.test', 0)],
  [([port]) => `HTTP://B.Test:${port}/x#y`, at('b.test', 0)],
  [([, port]) => `http://a.test:${port}/other-port`, at('a.test', 1)],
  [([, port]) => `//b.test:${port}/x`, at('b.test', 1)],
  [([port]) => `\\\\b.test:${port}\\x`, at('b.test', 0)],
  [([port]) => `http://inside.test:${port}/`, refused],
  [([port]) => `http://mixed.test:${port}/`, refused],
  [() => 'http://metadata.test/latest/meta-data/', refused],
  [() => 'http://169.254.169.254/latest/meta-data/', refused],
  [([port]) => `http://[::1]:${port}/`, refused],
  [([port]) => `http://2130706434:${port}/`, refused],
  [([port]) => `http://x:y@a.test:${port}/`, refused],
  [() => 'file:///etc/passwd', refused],
  [() => 'javascript:1', refused],
  [() => 'http://a.test:22/', { to: 'nowhere', code: 'port-refused' }],
  [([port]) => `http://gone.test:${port}/`, { to: 'nowhere', code: 'name-unresolved' }],
  [() => 'http://', { to: 'none' }],
]
const names: Readonly<Record<string, readonly string[]>> = {
  'a.test': ['127.0.0.1'],
  'b.test': ['127.0.0.1'],
  'inside.test': ['10.0.0.1'],
  'mixed.test': ['127.0.0.1', '192.168.1.1'],
  'metadata.test': ['169.254.169.254'],
}

const hop: fc.Arbitrary<Hop> = fc
  .tuple(
    // Most hops redirect, so that chains become long.
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...places.filter(([, { to }]) => to !== 'nowhere')) },
      fc.constantFrom(...places),
    ),
    fc.constantFrom(301, 302, 303, 307, 308),
  )
  .map(([[location, leads], status]) => ({ location, leads, status }))

const secretNames = ['authorization', 'cookie', 'x-api-key']

/** The expected result of a chain by the documented rules: at most six requests, and no secret outside its origin. */
function expected(hops: readonly Hop[], ports: readonly [number, number]) {
  const seen: Seen[] = []
  let now: Seen = { host: `a.test:${ports[0]}`, method: 'POST', body: 'b', secrets: secretNames }
  for (;;) {
    seen.push(now)
    const next = hops[seen.length - 1]
    if (!next) return { seen, end: 200 }
    const { leads, status } = next
    if (leads.to === 'none') return { seen, end: status }
    if (seen.length === 6) return { seen, end: 'upstream-failed' }
    if (leads.to === 'nowhere') return { seen, end: leads.code }
    const host = leads.to === 'origin' ? `${leads.host}:${ports[leads.server]}` : now.host
    if (host !== now.host) now = { ...now, host, secrets: [] }
    if (status < 307) now = { ...now, method: 'GET', body: '' }
  }
}

/** Two servers that answer along the chain, and the complete `http_request`; loopback counts as public. */
async function aWeb() {
  let hops: readonly Hop[] = []
  let seen: Seen[] = []
  const aServer = async (): Promise<number> => {
    const server = await startWebServer((_request, response) => {
      seen.push(...server.requests.splice(0).map(seenOf))
      const next = hops[seen.length - 1]
      if (next) response.writeHead(next.status, { location: next.location(ports) }).end()
      else response.end('arrived')
    })
    onTestFinished(() => server.close())
    return server.port
  }
  const ports: readonly [number, number] = [await aServer(), await aServer()]
  const forward = createForwardRequest({
    checkEffect: allowedEffects,
    ask: () => {},
    loop: ownLoop(),
    guard: () => {},
    fetchFor: () =>
      createPinnedFetch({
        resolve: async (name) => (names[name] ?? []).map((address) => ({ address, family: 4 })),
        isAllowed: (address) => address === '127.0.0.1' || isPublicAddress(address),
        allowedPorts: [...ports, 80, 443],
      }),
    journal: collectJournal(),
    clock: systemClock,
    holdLease: () => () => {},
    credentials: aCredentialRoom().open,
  })
  const scout = { kind: 'agent', agentId: 'scout', token: 'door', run: null } as const
  const follow = async (chain: readonly Hop[]) => {
    hops = chain
    seen = []
    const request = httpRequestSchema.parse({
      url: `http://a.test:${ports[0]}/`,
      method: 'POST',
      headers: { authorization: 'x', cookie: 'y', 'x-api-key': 'z', accept: 'w' },
      body: 'b',
    })
    const end = await forward(scout, request, aLine()).then(
      ({ status }) => status,
      (error: unknown) => (error instanceof Problem ? error.code : error),
    )
    return { seen, end }
  }
  return { ports, follow }
}

function seenOf({ method, headers, body }: WebServer['requests'][number]): Seen {
  const secrets = secretNames.filter((name) => name in headers)
  return { host: headers.host ?? '', method, body, secrets }
}

describe('a chain of redirects, whatever it is', () => {
  test('each hop of a redirect chain is checked, the chain ends after five, and secrets stay in their origin', async () => {
    heedsLesson(26)
    verifies(
      'limits:outbound-redirects',
      'limits:outbound-redirects:revalidated',
      'limits:outbound-authorization-dropped',
    )
    const { ports, follow } = await aWeb()
    const onward: Hop = { location: () => '/next', leads: same, status: 307 }
    // Each kind of location at least once, the longest allowed chain and the shortest rejected one.
    const examples: [Hop[]][] = [
      ...places.map(([location, leads]): [Hop[]] => [[{ location, leads, status: 307 }]]),
      [[onward, onward, onward, onward, onward]],
      [[onward, onward, onward, onward, onward, onward]],
    ]
    await fc.assert(
      fc.asyncProperty(fc.array(hop, { maxLength: 9 }), async (hops) => {
        expect(await follow(hops)).toEqual(expected(hops, ports))
      }),
      { numRuns: 100, examples },
    )
  })
})
