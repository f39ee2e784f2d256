import { browserLimits } from '@flotilla/protocol/browser-service-api'
import type { BrowserActionData } from '@flotilla/protocol/browser-service-api'
import type { BrowserContext, Request } from 'playwright-core'

export type LoggedRequest = BrowserActionData['inspect_requests']['requests'][number]

export interface RequestLog {
  /** Returns the last `count` requests, newest last. */
  last(count: number): readonly LoggedRequest[]
}

/** The maximum stored length of an address; shown addresses are cut after secrets were removed. */
const urlMaxChars = 20_000

/** The last requests of all tabs: address and result, never content. */
export function createRequestLog(context: BrowserContext): RequestLog {
  const entries = new Map<Request, LoggedRequest>()
  const put = (request: Request, changes: Partial<LoggedRequest>): void => {
    const known = entries.get(request)
    if (known) entries.set(request, { ...known, ...changes })
  }
  context.on('request', (request) => {
    entries.set(request, {
      method: request.method().slice(0, 20),
      url: withoutValues(request.url()),
      status: null,
      type: request.resourceType().slice(0, 30),
      bytes: null,
    })
    const [oldest] = entries.keys()
    if (entries.size > browserLimits.requestsMax && oldest) entries.delete(oldest)
  })
  context.on('response', (response) => {
    put(response.request(), { status: response.status() })
  })
  context.on('requestfinished', (request) => {
    request.sizes().then(
      ({ responseBodySize }) => put(request, { bytes: Math.max(0, responseBodySize) }),
      () => undefined,
    )
  })
  return { last: (count) => [...entries.values()].slice(-count) }
}

/** Keeps the names of query parameters; removes their values, the fragment and the user info. Pure. */
export function withoutValues(address: string): string {
  if (!URL.canParse(address)) return ''
  const { protocol, host, pathname, searchParams } = new URL(address)
  if (protocol !== 'http:' && protocol !== 'https:' && protocol !== 'ws:' && protocol !== 'wss:')
    return protocol
  const names = [...searchParams.keys()].map((name) => `${encodeURIComponent(name)}=`).join('&')
  return `${protocol}//${host}${pathname}${names === '' ? '' : `?${names}`}`.slice(0, urlMaxChars)
}
