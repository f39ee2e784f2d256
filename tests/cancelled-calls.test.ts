import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createPinnedFetch } from '../packages/egress/src/egress/fetch/pinned-fetch.ts'
import { startSilentServer } from './support/silent-tls.ts'
import { createPlatformHttp } from '../packages/inbound/src/channels/adapters/platform-http.ts'
import { postSigned } from '../packages/inbound/src/channels/adapters/webhook/post-signed.ts'

const none = { of: () => null }

/** Makes one call to an address; each ends by the signal. */
const callers: Readonly<Record<string, (url: URL, signal: AbortSignal) => Promise<unknown>>> = {
  'a call to a chat platform': (url, signal) => {
    const http = createPlatformHttp(none)
    onTestFinished(() => http.close())
    return http.call({ method: 'GET', url, headers: {}, body: null, maxBytes: 1000 }, signal)
  },
  'an event to a webhook': (url, signal) =>
    postSigned(url.href, { id: 'msg_1', timestamp: '1', signature: 'v1,x', body: '{}' }, signal),
  'a request of an agent': (url, signal) =>
    createPinnedFetch({
      resolve: async () => [],
      isAllowed: () => true,
      allowedPorts: [Number(url.port)],
    })({ url, method: 'GET', headers: {}, body: '' }, signal),
}

test.each(Object.entries(callers))(
  '%s that is cancelled before its connection is open ends at once',
  async (_what, call) => {
    const server = await startSilentServer()
    onTestFinished(() => server.close())
    const leaving = new AbortController()
    const reason = new Error('the caller left')
    let outcome: unknown = 'waiting'
    const ended = call(new URL(server.url), leaving.signal).catch((error: unknown) => (outcome = error))
    await server.opened(1)
    leaving.abort(reason)
    // The connection never opens and fails after seconds; these rounds of the event loop take microseconds.
    for (let round = 0; round < 50; round++) await setImmediate()
    expect(outcome).toBe(reason)
    await ended
  },
)
