import { loopbackFetch } from '../../../../testing/src/loopback-fetch.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { toolApi, webSearchBounds, webSearchRequestSchema } from '@flotilla/protocol/tool-api'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { collectJournal } from '../../../../../tests/support/collected-ports.ts'
import { startWebServer } from '../../../../../tests/support/web-server.ts'
import { settingsSchema } from '../../../../foundation/src/config/settings-file.ts'
import type { Caller } from '../../../../identity/src/access/caller.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { createScrubs } from '../../credentials/scrub.ts'
import { createSecret } from '../../credentials/secret.ts'
import { createPinnedFetch } from '../fetch/pinned-fetch.ts'
import { plain, searchProviderNames, searchProviders } from './search-providers.ts'
import type { SearchProviderName } from './search-providers.ts'
import { createWebSearch, searchSetup } from './web-search.ts'
import type { WebSearchDeps, WebSearchSettings } from './web-search.ts'
import { ownLoop } from '../../../../testing/src/own-loop.ts'

const scout: Caller = { kind: 'agent', agentId: 'scout', token: 'door', run: null }
const key = 'key-of-the-owner-1234567890'
/** Example answers of each provider, in the format of its documentation. */
const replies: Readonly<Record<SearchProviderName, (count: number) => unknown>> = {
  brave: (count) => ({
    type: 'search',
    query: { original: 'tea', more_results_available: true },
    web: {
      type: 'search',
      results: entries(count, ({ title, url, words, date }) => ({
        title,
        url,
        description: `<strong>${words}</strong> &amp; more`,
        page_age: date,
        age: '2 days ago',
        profile: { name: 'Site' },
      })),
    },
  }),
  tavily: (count) => ({
    query: 'tea',
    answer: null,
    images: [],
    response_time: 1.2,
    results: entries(count, ({ title, url, words, date }) => ({
      title,
      url,
      content: `${words} &amp; more`,
      score: 0.9,
      raw_content: null,
      published_date: date,
    })),
  }),
  serper: (count) => ({
    searchParameters: { q: 'tea', type: 'search', engine: 'google' },
    organic: entries(count, ({ title, url, words, date }, index) => ({
      title,
      link: url,
      snippet: `${words} &amp; more`,
      date,
      position: index + 1,
    })),
    credits: 1,
  }),
  searxng: (count) => ({
    query: 'tea',
    number_of_results: 0,
    answers: [],
    unresponsive_engines: [],
    results: entries(count, ({ title, url, words, date }) => ({
      title,
      url,
      content: `${words} &amp; more`,
      publishedDate: date,
      engine: 'x',
      engines: ['x'],
      score: 1,
    })),
  }),
}

interface Entry {
  readonly title: string
  readonly url: string
  readonly words: string
  readonly date: string
}

function entries(count: number, make: (entry: Entry, index: number) => unknown): unknown[] {
  return Array.from({ length: count }, (_, index) => {
    const url = `https://site.test/${index}`
    return make({ title: `Title ${index}`, url, words: `words ${index}`, date: '2026-11-01' }, index)
  })
}

async function aSearch(
  provider: SearchProviderName,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  more: Partial<WebSearchDeps> = {},
) {
  const web = await startWebServer(answer)
  onTestFinished(() => web.close())
  const journal = collectJournal()
  const settings: WebSearchSettings = { provider, url: `http://search.test:${web.port}/here` }
  const search = createWebSearch({
    loop: ownLoop(),
    settings: () => settings,
    system: (name) => (name === `${provider}_api_key` ? createSecret(name, key) : undefined),
    guard: () => {},
    fetchFor: () => loopbackFetch(web.port),
    journal,
    clock: systemClock,
    holdLease: () => () => {},
    scrubFor: createScrubs(),
    ...more,
  })
  const ask = (request: object, signal = new AbortController().signal) =>
    search(scout, webSearchRequestSchema.parse(request), signal)
  return { ask, web, journal }
}
const sends = (value: unknown) => (_request: IncomingMessage, response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))

describe('a search of the web', () => {
  test.each(searchProviderNames)('a search with %s returns the common format', async (provider) => {
    const { ask, web, journal } = await aSearch(provider, sends(replies[provider](30)))
    const reply = await ask({ query: 'green tea & more', count: 3 })
    expect(toolApi.webSearch.response.parse(reply)).toEqual({
      provider,
      results: [0, 1, 2].map((index) => ({
        title: `Title ${index}`,
        url: `https://site.test/${index}`,
        snippet: `words ${index} & more`,
        published: '2026-11-01',
      })),
    })
    const [asked] = web.requests
    expect(asked?.url.startsWith('/here/')).toBe(true)
    expect(decodeURIComponent(`${asked?.url}${asked?.body}`.replaceAll('+', ' '))).toContain(
      'green tea & more',
    )
    expect(journal.entries).toEqual([
      {
        actor: 'agent:scout',
        action: 'web.searched',
        subject: provider,
        detail: { query_chars: 16, status: 200, results: 3 },
      },
    ])
  })

  test.each([
    ['brave', 'x-subscription-token', key],
    ['tavily', 'authorization', `Bearer ${key}`],
    ['serper', 'x-api-key', key],
  ] as const)('a search sends the key of %s only to that provider', async (provider, header, value) => {
    const echo = (request: IncomingMessage, response: ServerResponse) => {
      const body = JSON.stringify(replies[provider](1)).replaceAll('words 0', String(request.headers[header]))
      response.end(body)
    }
    const { ask, web, journal } = await aSearch(provider, echo)
    const reply = await ask({ query: 'tea' })
    expect(web.requests[0]?.headers[header]).toBe(value)
    expect(JSON.stringify(reply)).toContain('[secret]')
    expect(JSON.stringify([reply, journal.entries])).not.toContain(key)
  })

  test('a search returns at most twenty bounded results with valid addresses', async () => {
    const long = 'x'.repeat(5000)
    const results = [
      { title: long, url: 'https://a.test/', content: `${long}\u202E` },
      { title: null, url: 'https://b.test/' },
      { title: 'no address' },
      { title: 'script', url: 'javascript:alert(1)' },
      { title: 'file', url: 'file:///etc/passwd' },
      { title: 'long', url: `https://c.test/${long}` },
      ...entries(60, ({ title, url }) => ({ title, url })),
    ]
    const { ask } = await aSearch('searxng', sends({ results }))
    const reply = await ask({ query: 'tea', count: 20 })
    expect(toolApi.webSearch.response.safeParse(reply).success).toBe(true)
    expect(reply.results).toHaveLength(20)
    expect(reply.results[0]?.title).toHaveLength(webSearchBounds.titleMaxChars)
    expect(reply.results[1]).toEqual({
      title: 'https://b.test/',
      url: 'https://b.test/',
      snippet: '',
      published: null,
    })
    expect(reply.results[2]?.url).toBe('https://site.test/0')
  })

  test('a search without permission is denied before any request', async () => {
    const guard = () => {
      throw new Problem('denied')
    }
    const { ask, web } = await aSearch('searxng', sends({ results: [] }), { guard })
    await expect(ask({ query: 'tea' })).rejects.toMatchObject({ code: 'denied' })
    expect(web.requests).toEqual([])
  })

  test.each([
    [302, 'upstream-failed', 'web_search.url'],
    [403, 'upstream-failed', 'search.formats'],
    [429, 'rate-limited', 'limiter'],
    [500, 'upstream-failed', 'answered 500'],
  ])('a search that fails with %i says what to do', async (status, code, words) => {
    const refuse = (_request: IncomingMessage, response: ServerResponse) =>
      void response.writeHead(status, { location: 'http://elsewhere.test/', 'retry-after': '7' }).end('{}')
    const { ask, web, journal } = await aSearch('searxng', refuse)
    await expect(ask({ query: 'tea' })).rejects.toMatchObject({
      code,
      detail: expect.stringContaining(words),
    })
    expect(web.requests).toHaveLength(1)
    expect(journal.entries).toMatchObject([{ detail: { problem: code } }])
  })

  test.each(searchProviderNames)('an unexpected answer of %s fails', async (provider) => {
    for (const answer of ['<html>', '[]', '{"results":7,"web":7,"organic":7}']) {
      const { ask } = await aSearch(provider, (_request, response) => void response.end(answer))
      await expect(ask({ query: 'tea' })).rejects.toMatchObject({ code: 'upstream-failed' })
    }
  })

  test('a search reads at most two megabytes of an answer', async () => {
    const long = (_request: IncomingMessage, response: ServerResponse) =>
      void response.end(Buffer.alloc(3 * 1024 * 1024, 0x20))
    const { ask } = await aSearch('searxng', long)
    await expect(ask({ query: 'tea' })).rejects.toMatchObject({
      detail: expect.stringContaining('more than'),
    })
  })

  test('a search ends when its client has disconnected', async () => {
    const stop = new AbortController()
    const { ask } = await aSearch('searxng', () => stop.abort(new Problem('cancelled')))
    await expect(ask({ query: 'tea' }, stop.signal)).rejects.toMatchObject({ code: 'cancelled' })
  })

  test('a search connects only where the filter allows', async () => {
    const { ask, web } = await aSearch('searxng', sends({ results: [] }), {
      fetchFor: () =>
        createPinnedFetch({
          resolve: async () => [{ address: '10.0.0.1', family: 4 }],
          isAllowed: () => false,
          allowedPorts: Array.from({ length: 65_535 }, (_, index) => index + 1),
        }),
    })
    await expect(ask({ query: 'tea' })).rejects.toMatchObject({ code: 'address-refused' })
    expect(web.requests).toEqual([])
  })
})

describe('the settings of web search', () => {
  const setup = (settings: WebSearchSettings | undefined, names: readonly string[] = []) =>
    searchSetup({
      settings: () => settings,
      system: (name) => (names.includes(name) ? createSecret(name, key) : undefined),
    })

  test('missing search settings are reported with the place to add them', () => {
    expect(() => setup(undefined)).toThrow('config/settings.json')
    expect(() => setup({ provider: 'brave' })).toThrow('FLOTILLA_SYSTEM_BRAVE_API_KEY')
    expect(() => setup({ provider: 'serper', credential: 'mine' })).toThrow('FLOTILLA_SYSTEM_MINE')
    const { error } = settingsSchema.safeParse({ web_search: { provider: 'searxng' } })
    expect(error?.issues[0]).toMatchObject({ path: ['web_search', 'url'] })
    expect(settingsSchema.safeParse({ web_search: { provider: 'other' } }).success).toBe(false)
  })

  test('the search settings name the provider, its address and its key', () => {
    expect(setup({ provider: 'brave' }, ['brave_api_key'])).toMatchObject({
      name: 'brave',
      base: searchProviders.brave.publicUrl,
      key: { name: 'brave_api_key' },
    })
    expect(setup({ provider: 'searxng', url: 'http://h:1' })).toEqual({
      name: 'searxng',
      base: 'http://h:1',
      key: null,
    })
  })
})

test.each([
  ['<b>bold</b>  and\n\tspace', 'bold and space'],
  ['a &lt;script&gt; &#39;x&#39; &nope;', "a <script> 'x' &nope;"],
  ['x\uD83D', 'x\uFFFD'],
])('%j is converted to plain text', (given, expected) => {
  expect(plain(given, 100)).toBe(expected)
})
