import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { isPublicAddress } from './address-ranges.ts'
import { destinationOf } from './destination.ts'
import { followRedirects } from './follow-redirects.ts'
import { createJudgeDestination } from './judge-destination.ts'
import type { PinnedRequest } from './pinned-fetch.ts'

const names: Readonly<Record<string, string>> = {
  'a.test': '93.184.216.34',
  'b.test': '8.8.8.8',
  'inside.test': '10.0.0.1',
  'metadata.test': '169.254.169.254',
}

describe('a chain of redirects, whatever it is', () => {
  test('is judged at each hop, ends after five, and takes no secret to another origin (lesson 26)', async () => {
    verifies(
      'limits:outbound-redirects',
      'limits:outbound-redirects:revalidated',
      'limits:outbound-authorization-dropped',
    )
    const target = fc.oneof(
      fc
        .tuple(fc.constantFrom('http', 'https'), fc.constantFrom(...Object.keys(names)), fc.webPath())
        .map(([scheme, name, path]) => `${scheme}://${name}${path}`),
      fc.constantFrom(
        '/next',
        '//b.test/x',
        '?q',
        'http://[::1]/',
        'http://2130706433/',
        'file:///etc/passwd',
      ),
      fc.constantFrom('http://a.test:22/', 'http://x:y@a.test/', 'javascript:1', 'http://', '\\\\b.test\\x'),
    )
    const hop = fc.tuple(target, fc.constantFrom(301, 302, 303, 307, 308))
    await fc.assert(
      fc.asyncProperty(fc.array(hop, { maxLength: 9 }), async (hops) => {
        const judge = createJudgeDestination({
          resolve: async (name) => [{ address: names[name] ?? '127.0.0.1', family: 4 }],
          isAllowed: isPublicAddress,
        })
        const reached: PinnedRequest[] = []
        const fetch = async (request: PinnedRequest, signal: AbortSignal) => {
          const destination = destinationOf(request.url)
          if (destination === null) throw new Error('no destination')
          await judge(destination, signal)
          const [location, status] = hops[reached.length] ?? ['', 200]
          reached.push(request)
          return {
            status,
            headers: { location },
            body: (async function* () {})(),
            close: async () => {},
          }
        }
        const first = {
          url: new URL('https://a.test/'),
          method: 'POST',
          headers: { authorization: 'x', cookie: 'y', 'x-api-key': 'z', accept: 'w' },
          body: 'b',
        }
        await followRedirects(fetch, first, new AbortController().signal).catch(() => {})
        expect(reached.length).toBeLessThanOrEqual(6)
        let isHome = true
        for (const { url, headers } of reached) {
          isHome &&= url.origin === 'https://a.test'
          expect(['a.test', 'b.test']).toContain(url.hostname)
          const secrets = Object.keys(headers).filter((name) => name !== 'accept')
          expect(secrets).toEqual(isHome ? ['authorization', 'cookie', 'x-api-key'] : [])
        }
      }),
      { numRuns: 500 },
    )
  })
})
