import { AsyncLocalStorage } from 'node:async_hooks'
import { withMarkedNumbers } from '@flotilla/protocol/json-as-written'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { measureJson } from '../../../intake/index.ts'
import type { CallBounds, ProviderReply } from '../llm-provider.ts'
import { collect } from '../collect-reply.ts'
import { exchange } from '../provider-exchange.ts'
import type { ProviderPool } from '../provider-pool.ts'

/** Adapts the body of a stream to what a package can read. */
type MendBody = (body: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>

interface CallOfAgent {
  readonly agentId: string
  readonly bounds: CallBounds
}

/** The current call: packages pass no information about a call to `fetch`. */
const callUnderWay = new AsyncLocalStorage<CallOfAgent>()

/** Runs `work` so that requests of a package count for the call's bounds and the agent's share. */
export function fetchingFor<T>(call: CallOfAgent, work: () => Promise<T>): Promise<T> {
  return callUnderWay.run(call, work)
}

/**
 * The packages' only egress: the mesh's connections to one provider's origin, by the same transport as all providers.
 * A request to any other address throws the Problem `provider-refused`.
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

/** Bounds a whole answer, because a package parses all of it at once. Marks its large numbers. */
async function measured(reply: ProviderReply, host: string): Promise<string> {
  const bounds = callUnderWay.getStore()?.bounds ?? {}
  const measure = (text: string) => ({ text, ...measureJson(Buffer.from(text), jsonLimits.packageAnswer) })
  const { text, fault } = await collect(reply, bounds, measure).catch((error: unknown) => {
    // An unread rest would keep the connection busy.
    reply.discard()
    throw error
  })
  if (fault === null) return marked(text)
  throw new Problem('upstream-failed', { detail: `the answer of ${host} ${fault}` })
}

/** Marks large numbers in JSON; the package rejects text that is not JSON. */
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
