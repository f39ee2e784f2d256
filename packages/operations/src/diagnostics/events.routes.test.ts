import { once } from 'node:events'
import { get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import type { FastifyInstance } from 'fastify'
import { createEventBus } from '../../../foundation/src/events/create-event-bus.ts'
import type { EventBus } from '../../../foundation/src/events/event-bus.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { openDatabase } from '../../../foundation/src/storage/database.ts'
import { allMigrations } from '../../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../../foundation/src/storage/migrate.ts'
import { systemClock } from '../../../foundation/src/platform/system-clock.ts'
import { createServer } from '../../../identity/src/http/server.ts'
import { createDownloadRoom } from '../../../identity/src/http/download-room.ts'
import { openPeople } from '../../../identity/src/http/open-surfaces.ts'
import { eventRoutes } from './events.routes.ts'

const servers: FastifyInstance[] = []
const replies: IncomingMessage[] = []
afterEach(async () => {
  for (const reply of replies.splice(0)) reply.destroy()
  for (const server of servers.splice(0)) await server.close()
})

async function aServer(lifeMs?: number) {
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const events = createEventBus({ database, clock: systemClock, log: silentLog })
  const server = createServer(silentLog)
  servers.push(server)
  openPeople(
    server,
    [
      {
        routes: {
          people: (surface) =>
            eventRoutes(surface, { guard: () => {}, events, ...(lifeMs === undefined ? {} : { lifeMs }) }),
        },
      },
    ],
    {
      gate: () => ({ kind: 'human', role: 'owner', channel: 'api' }),
      guard: () => {},
      people: { onChange: () => {}, isProven: () => false },
      downloads: createDownloadRoom(),
      keepAliveMs: 15_000,
      clock: systemClock,
    },
  )
  const url = await server.listen({ port: 0, host: '127.0.0.1' })
  return { events, url }
}

/** Publishes events of the size of a typical stored tool result. */
function publish(events: EventBus, count: number): void {
  for (let step = 0; step < count; step++) {
    const output = 'x'.repeat(4000)
    events.publish({
      type: 'tool.ended',
      agent_id: 'a',
      run_id: 'run_0000000000000000',
      step,
      name: 'x',
      output,
      ok: true,
    })
  }
}

async function openEvents(url: string): Promise<IncomingMessage> {
  const [reply]: IncomingMessage[] = await once(get(`${url}/api/events?since=0`), 'response')
  if (!reply) throw new Error('no reply')
  replies.push(reply)
  return reply
}

test('a reader that starts far back gets every event once and in order, including new ones', async () => {
  const { events, url } = await aServer()
  publish(events, 2500)
  const reply = await openEvents(url)
  let text = ''
  let published = false
  const seen = () => [...text.matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]))
  for await (const chunk of reply) {
    text += String(chunk)
    if (!published) {
      published = true
      publish(events, 5)
    }
    if (text.includes('id: 2505\n') && text.endsWith('\n\n')) break
  }
  expect(seen()).toEqual(Array.from({ length: 2505 }, (_, index) => index + 1))
})

test('a reader that pauses for a while stays connected and continues where it stopped', async () => {
  const { events, url } = await aServer()
  publish(events, 2500)
  const reply = await openEvents(url)
  reply.pause()
  await new Promise((resolve) => setTimeout(resolve, 200))
  publish(events, 10)
  const chunks: string[] = []
  for await (const chunk of reply) {
    chunks.push(String(chunk))
    if (chunks.slice(-2).join('').includes('id: 2510\n')) break
  }
  expect(chunks.join('').match(/^id: /gm)).toHaveLength(2510)
})

test('a reader that asks for deleted events is informed before the first remaining one', async () => {
  const { events, url } = await aServer()
  publish(events, 10_600)
  const dropped = events.droppedUntil()
  expect(dropped).toBeGreaterThan(0)
  const reply = await openEvents(url)
  let text = ''
  for await (const chunk of reply) {
    text += String(chunk)
    if (text.includes(`id: ${dropped + 1}\n`)) break
  }
  const begins = `event: events.dropped\nid: ${dropped}\ndata: {"since":0,"dropped_until":${dropped}}\n\nid: ${dropped + 1}\n`
  expect(text.startsWith(begins)).toBe(true)
})

test('a stream ends after its maximum duration, and a client that reconnects continues where it ended', async () => {
  const { events, url } = await aServer(50)
  publish(events, 2)
  const seen = async (lastId?: number) => {
    const headers = lastId === undefined ? {} : { 'last-event-id': String(lastId) }
    // The stream ends cleanly, so that the client does not see a broken connection.
    const text = await (await fetch(`${url}/api/events?since=0`, { headers })).text()
    return [...text.matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]))
  }
  expect(await seen()).toEqual([1, 2])
  publish(events, 1)
  expect(await seen(2)).toEqual([3])
})
