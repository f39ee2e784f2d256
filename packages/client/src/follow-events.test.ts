import type { ServerResponse } from 'node:http'
import type { Clock } from '@flotilla/protocol/clock'
import { eventsDroppedName } from '@flotilla/protocol/fleet-event'
import type { EventsDropped, FleetEvent } from '@flotilla/protocol/fleet-event'
import { describe, expect, it } from 'vitest'
import { startLoopbackServer } from './loopback-server.ts'
import { createMeshClient } from './mesh-client.ts'
import type { MeshClientOptions } from './mesh-client.ts'
import { nodeFetch } from './node-fetch.ts'
import { isMeshUnreachable } from './unreachable.ts'

const event = (seq: number): FleetEvent => ({
  seq,
  at: 1_000 + seq,
  body: { type: 'agent.stopped', agent_id: 'auditor', reason: `${seq}` },
})

/** Waits of up to five seconds (new connections) pass at once; longer ones (silence) never end by themselves. */
const hastyClock: Clock = {
  now: () => 0,
  sleep: (ms, signal) =>
    ms <= 5000
      ? Promise.resolve()
      : new Promise((_resolve, reject) =>
          signal?.addEventListener('abort', () => reject(new Error('aborted'))),
        ),
}

function send(reply: ServerResponse, seqs: readonly number[]): void {
  reply.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const seq of seqs) reply.write(`: keep-alive\n\nid: ${seq}\ndata: ${JSON.stringify(event(seq))}\n\n`)
}

/** Fails the test if an event was dropped. */
const onDropped = () => {
  throw new Error('nothing was dropped here')
}

async function take(events: AsyncIterable<FleetEvent>, count: number): Promise<number[]> {
  const seqs: number[] = []
  for await (const one of events) {
    seqs.push(one.seq)
    if (seqs.length === count) break
  }
  return seqs
}

describe.each([
  ['the fetch of Node', globalThis.fetch],
  ['node:http', nodeFetch],
])('followed events over %s', (_name, fetch) => {
  const clientOf = (options: MeshClientOptions) => createMeshClient({ fetch, ...options })

  it('followed events go on from the last one seen after a broken connection, each once', async () => {
    await using server = await startLoopbackServer((_call, reply, nth) => {
      send(reply, nth === 1 ? [4, 5] : [5, 6])
      if (nth === 1) setTimeout(() => reply.destroy(), 20)
    })
    const client = clientOf({ baseUrl: server.url, clock: hastyClock })
    const signal = new AbortController().signal
    expect(await take(client.events({ onDropped, since: 3, signal }), 3)).toEqual([4, 5, 6])
    expect(server.calls.map((call) => call.url)).toEqual(['/api/events?since=3', '/api/events?since=5'])
    expect(server.calls[0]?.headers.accept).toBe('text/event-stream')
  })

  it('followed events go on from the last one seen where the mesh ends a stream that has lasted long enough', async () => {
    await using server = await startLoopbackServer((_call, reply, nth) => {
      send(reply, nth === 2 ? [] : [nth])
      reply.end()
    })
    const client = clientOf({ baseUrl: server.url, clock: hastyClock })
    const { signal } = new AbortController()
    // A stream that ends regularly does not count as a failure.
    expect(await take(client.events({ onDropped, signal, failuresMax: 1 }), 3)).toEqual([1, 3, 4])
    expect(server.calls.map((call) => call.url)).toEqual(
      [0, 1, 1, 3].map((seq) => `/api/events?since=${seq}`),
    )
  })

  it('followed events say what is no longer kept, and are asked for from there on', async () => {
    await using server = await startLoopbackServer((_call, reply, nth) => {
      send(reply, [])
      if (nth === 1) {
        reply.write(
          `event: ${eventsDroppedName}\nid: 40\ndata: ${JSON.stringify({ since: 3, dropped_until: 40 })}\n\n`,
        )
        setTimeout(() => reply.destroy(), 20)
      } else reply.write(`id: 41\ndata: ${JSON.stringify(event(41))}\n\n`)
    })
    const client = clientOf({ baseUrl: server.url, clock: hastyClock })
    const dropped: EventsDropped[] = []
    const told = { onDropped: (one: EventsDropped) => dropped.push(one) }
    const { signal } = new AbortController()
    expect(await take(client.events({ since: 3, signal, ...told }), 1)).toEqual([41])
    expect(dropped).toEqual([{ since: 3, dropped_until: 40 }])
    expect(server.calls[1]?.url).toBe('/api/events?since=40')
  })

  it('end quietly when the signal aborts', async () => {
    await using server = await startLoopbackServer((_call, reply) => send(reply, [1]))
    const client = clientOf({ baseUrl: server.url, clock: hastyClock })
    const stop = new AbortController()
    const seqs: number[] = []
    for await (const one of client.events({ onDropped, signal: stop.signal })) {
      seqs.push(one.seq)
      stop.abort()
    }
    expect(seqs).toEqual([1])
  })

  it('followed events give up with a Problem after the named number of failures', async () => {
    const server = await startLoopbackServer(() => undefined)
    await server[Symbol.asyncDispose]()
    const client = clientOf({ baseUrl: server.url, clock: hastyClock })
    const signal = new AbortController().signal
    const error = await take(client.events({ onDropped, signal, failuresMax: 3 }), 1).catch(
      (reason: unknown) => reason,
    )
    expect(isMeshUnreachable(error)).toBe(true)
  })

  it('open a connection again that has gone silent', async () => {
    await using server = await startLoopbackServer((_call, reply, nth) => send(reply, [nth]))
    // Only the first wait for silence passes, so only a silent stream is given up.
    let silences = 0
    const clock: Clock = {
      now: () => 0,
      sleep: (ms, signal) => {
        if (ms > 5000) silences += 1
        return ms > 5000 && silences === 2
          ? new Promise((resolve) => setTimeout(resolve, 30))
          : hastyClock.sleep(ms, signal)
      },
    }
    const client = clientOf({ baseUrl: server.url, clock })
    expect(await take(client.events({ onDropped, signal: new AbortController().signal }), 2)).toEqual([1, 2])
    expect(server.calls).toHaveLength(2)
  })

  it('followed events are refused at once when the mesh refuses', async () => {
    await using server = await startLoopbackServer((_call, reply) =>
      reply.writeHead(401).end('{"code":"unauthenticated","detail":"no cookie"}'),
    )
    const client = clientOf({ baseUrl: server.url, clock: hastyClock })
    await expect(
      take(client.events({ onDropped, signal: new AbortController().signal }), 1),
    ).rejects.toMatchObject({
      code: 'unauthenticated',
    })
    expect(server.calls).toHaveLength(1)
  })
})
