import { webSearchBounds } from '@flotilla/protocol/tool-api'
import type { WebResult, WebSearchRequest } from '@flotilla/protocol/tool-api'
import * as z from 'zod'
import { endingAtFirst } from '@flotilla/foundation/intake'

export const searchProviderNames = ['brave', 'tavily', 'serper', 'searxng'] as const
export type SearchProviderName = (typeof searchProviderNames)[number]

/** A search request for one provider. The sender adds the key. */
export interface SearchCall {
  readonly url: URL
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface SearchProvider {
  /** The provider's public URL; null if the owner must host the service. */
  readonly publicUrl: string | null
  /** The header for the key; null if the provider needs none. */
  readonly keyHeader: { readonly name: string; readonly prefix: string } | null
  call(base: string, request: WebSearchRequest): SearchCall
  /** Parses a reply of the provider. Throws a zod error for an unexpected reply. */
  read(reply: unknown): readonly WebResult[]
  /** The likely meaning of an error status, as text for the owner. */
  readonly hints: Readonly<Record<number, string>>
}

/** External services may omit fields, set them to null, or add new ones. */
const field = z.string().nullish()
const found = <Fields extends z.ZodRawShape>(fields: Fields) =>
  endingAtFirst(z.array(z.looseObject(fields)).max(1000))

const json = { accept: 'application/json' }
const posted = { ...json, 'content-type': 'application/json' }
const badKey = 'the provider rejected the key; check the credential'

/**
 * Web search providers with a public JSON API, in the formats of their documentation. All are converted to one result
 * format. Pure.
 */
export const searchProviders: Readonly<Record<SearchProviderName, SearchProvider>> = {
  brave: {
    publicUrl: 'https://api.search.brave.com',
    keyHeader: { name: 'x-subscription-token', prefix: '' },
    call: (base, { query, count }) => ({
      url: withQuery(at(base, 'res/v1/web/search'), { q: query, count: String(count) }),
      method: 'GET',
      headers: json,
      body: '',
    }),
    read: (reply) => {
      const results = found({ title: field, url: field, description: field, age: field, page_age: field })
      const { web } = z.looseObject({ web: z.looseObject({ results }).nullish() }).parse(reply)
      return (web?.results ?? []).flatMap((one) =>
        resultOf({
          title: one.title,
          link: one.url,
          snippet: one.description,
          published: one.page_age ?? one.age,
        }),
      )
    },
    hints: { 401: badKey, 403: badKey, 422: badKey },
  },
  tavily: {
    publicUrl: 'https://api.tavily.com',
    keyHeader: { name: 'authorization', prefix: 'Bearer ' },
    call: (base, { query, count }) => ({
      url: at(base, 'search'),
      method: 'POST',
      headers: posted,
      body: JSON.stringify({ query, max_results: count }),
    }),
    read: (reply) => {
      const results = found({ title: field, url: field, content: field, published_date: field })
      return z
        .looseObject({ results })
        .parse(reply)
        .results.flatMap((one) =>
          resultOf({ title: one.title, link: one.url, snippet: one.content, published: one.published_date }),
        )
    },
    hints: {
      401: badKey,
      432: 'the quota of this key’s plan is used up',
      433: 'the limit of this key is used up',
    },
  },
  serper: {
    publicUrl: 'https://google.serper.dev',
    keyHeader: { name: 'x-api-key', prefix: '' },
    call: (base, { query, count }) => ({
      url: at(base, 'search'),
      method: 'POST',
      headers: posted,
      body: JSON.stringify({ q: query, num: count }),
    }),
    read: (reply) => {
      const organic = found({ title: field, link: field, snippet: field, date: field }).nullish()
      const { organic: results } = z.looseObject({ organic }).parse(reply)
      return (results ?? []).flatMap((one) =>
        resultOf({ title: one.title, link: one.link, snippet: one.snippet, published: one.date }),
      )
    },
    hints: { 401: badKey, 403: badKey },
  },
  searxng: {
    publicUrl: null,
    keyHeader: null,
    call: (base, { query }) => ({
      url: withQuery(at(base, 'search'), { q: query, format: 'json' }),
      method: 'GET',
      headers: json,
      body: '',
    }),
    read: (reply) => {
      const results = found({ title: field, url: field, content: field, publishedDate: field })
      return z
        .looseObject({ results })
        .parse(reply)
        .results.flatMap((one) =>
          resultOf({ title: one.title, link: one.url, snippet: one.content, published: one.publishedDate }),
        )
    },
    hints: {
      403: 'add json to search.formats in its settings.yml',
      429: 'the rate limiter of the search server rejected the mesh',
    },
  },
}

function at(base: string, path: string): URL {
  return new URL(path, base.endsWith('/') ? base : `${base}/`)
}

function withQuery(url: URL, query: Readonly<Record<string, string>>): URL {
  const full = new URL(url)
  for (const [name, value] of Object.entries(query)) full.searchParams.set(name, value)
  return full
}

/** Returns a list of one result, shortened to the limits; an empty list for a result without a valid address. */
function resultOf(one: {
  readonly title?: string | null | undefined
  readonly link?: string | null | undefined
  readonly snippet?: string | null | undefined
  readonly published?: string | null | undefined
}): WebResult[] {
  const { titleMaxChars, urlMaxChars, snippetMaxChars } = webSearchBounds
  const url = (one.link ?? '').trim()
  if (url.length > urlMaxChars || !/^https?:\/\//i.test(url) || !URL.canParse(url)) return []
  const when = plain(one.published ?? '', 100)
  return [
    {
      title: plain(one.title ?? '', titleMaxChars) || url.slice(0, titleMaxChars),
      url,
      snippet: plain(one.snippet ?? '', snippetMaxChars),
      published: when === '' ? null : when,
    },
  ]
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  '#39': "'",
  '#x27': "'",
  nbsp: ' ',
}

/** Providers mark matches with HTML tags; the result is plain text on one line. Pure. */
export function plain(text: string, maxChars: number): string {
  const line = text
    // Bounds the work for a hostile page with megabytes of text.
    .slice(0, maxChars * 4)
    .replaceAll(/<[^<>]{0,200}>/g, '')
    .replaceAll(/&(#?\w{2,6});/g, (whole, name: string) => entities[name.toLowerCase()] ?? whole)
    .replaceAll(/\s+/g, ' ')
    .trim()
  return line.slice(0, maxChars).toWellFormed()
}
