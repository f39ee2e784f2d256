import { AsyncLocalStorage } from 'node:async_hooks'
import { withMarkedNumbers } from '@flotilla/protocol/json-as-written'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { measureJson } from '../../../intake/index.ts'
import type { CallBounds, ProviderReply } from '../llm-provider.ts'
import { collect } from '../collect-reply.ts'
import { exchange } from '../provider-exchange.ts'
import type { ProviderPool } from '../provider-pool.ts'

/** Brings the body of a stream into the form that a package takes. */
type MendBody = (body: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>

interface CallOfAgent {
  readonly agentId: string
  readonly bounds: CallBounds
}

/** Packages hand nothing of a call on to what fetches for them. */
const callUnderWay = new AsyncLocalStorage<CallOfAgent>()

/** Whatever a package fetches within `work` is kept within the bounds of the call and the share of its agent. */
export function fetchingFor<T>(call: CallOfAgent, work: () => Promise<T>): Promise<T> {
  return callUnderWay.run(call, work)
}

/**
 * The packages' only egress: our own connections to one provider's origin, by the same transport as every other
 * provider. Any other address that a package requests is the Problem `provider-refused`.
 */
export function createSdkFetch(
  pool: ProviderPool,
  base: URL,
  mend: MendBody = (body) => body,
): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    if (url.origin !== base.origin) {
      throw new Problem('provider-refused', { detail: `a call would have left ${base.host}` })
    }
    const reply = await exchange({
      pool,
      host: base.host,
      signal: init.signal ?? new AbortController().signal,
      request: {
        agentId: callUnderWay.getStore()?.agentId ?? null,
        method: init.method === 'GET' ? 'GET' : 'POST',
        path: `${url.pathname}${url.search}`,
        headers: Object.fromEntries(new Headers(init.headers)),
        body: bodyOf(init.body),
      },
    })
    const isJson = reply.status === 200 && reply.contentType.includes('json')
    const isStream = reply.status === 200 && reply.contentType.includes('event-stream')
    const streamed = isStream ? mend(reply.body) : reply.body
    const retryAfter = reply.retryAfterSeconds
    return new Response(isJson ? await measured(reply, base.host) : ReadableStream.from(streamed), {
      status: reply.status,
      headers: {
        'content-type': reply.contentType,
        ...(retryAfter === null ? {} : { 'retry-after': String(retryAfter) }),
        ...(reply.repliedAt === undefined ? {} : { date: new Date(reply.repliedAt).toUTCString() }),
        ...(reply.errorType === undefined ? {} : { 'x-amzn-errortype': reply.errorType }),
      },
    })
  }
}

/** A package makes all of a whole answer at once, whatever is in it. */
async function measured(reply: ProviderReply, host: string): Promise<string> {
  const bounds = callUnderWay.getStore()?.bounds ?? {}
  const measure = (text: string) => ({ text, ...measureJson(Buffer.from(text), jsonLimits.packageAnswer) })
  const { text, fault } = await collect(reply, bounds, measure).catch((error: unknown) => {
    // What is left of it would keep its connection.
    reply.discard()
    throw error
  })
  if (fault === null) return marked(text)
  throw new Problem('upstream-failed', { detail: `the answer of ${host} ${fault}` })
}

/** Text that is no JSON is the package's to refuse. */
function marked(text: string): string {
  try {
    return withMarkedNumbers(text)
  } catch {
    return text
  }
}

function bodyOf(body: unknown): string | Uint8Array | null {
  if (typeof body === 'string' || body instanceof Uint8Array) return body
  if (body === null || body === undefined) return null
  throw new Problem('provider-refused', { detail: 'a request body of an unknown kind' })
}
