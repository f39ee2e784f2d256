import { describe, expect, test } from 'vitest'
import { followRedirects, redirectsMax } from './follow-redirects.ts'
import type { PinnedFetch, PinnedRequest } from './pinned-fetch.ts'

const first: PinnedRequest = {
  url: new URL('https://site.test/0'),
  method: 'GET',
  headers: {},
  body: '',
}

/** A server that redirects this many times. It records the requested pages and the replies that were closed. */
function aFarEnd(redirects: number) {
  const requests: string[] = []
  const closed: number[] = []
  const signals: AbortSignal[] = []
  const fetch: PinnedFetch = async (request, signal) => {
    const hop = requests.push(request.url.pathname) - 1
    signals.push(signal)
    return {
      status: hop < redirects ? 302 : 200,
      headers: hop < redirects ? { location: `/${hop + 1}` } : {},
      body: (async function* () {})(),
      close: async () => void closed.push(hop),
    }
  }
  return { fetch, asked: requests, closed, signals }
}

describe('a request that is led on', () => {
  test('the first reply without a redirect is returned with an open body', async () => {
    const { fetch, asked, closed, signals } = aFarEnd(2)
    const { signal } = new AbortController()
    const { reply, url } = await followRedirects(fetch, first, signal)
    expect([reply.status, url.href]).toEqual([200, 'https://site.test/2'])
    expect(asked).toEqual(['/0', '/1', '/2'])
    // An unread reply holds its connection until it is closed.
    expect(closed).toEqual([0, 1])
    expect(signals).toEqual([signal, signal, signal])
  })

  test('five redirects are followed, and a sixth is not', async () => {
    expect(redirectsMax).toBe(5)
    const { signal } = new AbortController()
    const five = aFarEnd(5)
    expect((await followRedirects(five.fetch, first, signal)).url.pathname).toBe('/5')
    const six = aFarEnd(6)
    await expect(followRedirects(six.fetch, first, signal)).rejects.toMatchObject({
      code: 'upstream-failed',
      detail: expect.stringContaining('5 redirects') as string,
    })
    expect(six.asked).toHaveLength(6)
    expect(six.closed).toEqual([0, 1, 2, 3, 4, 5])
  })
})
