import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { liveRoutes } from '../../packages/operations/src/dashboard/people.routes.ts'
import { createEventBus } from '../../packages/foundation/src/events/create-event-bus.ts'
import { answerHeaders } from '../../packages/identity/src/http/answer-headers.ts'
import { connectionBounds } from '../../packages/identity/src/http/bound-connections.ts'
import { createDownloadRoom } from '../../packages/identity/src/http/download-room.ts'
import { openPeople } from '../../packages/identity/src/http/open-surfaces.ts'
import { createServer as createMeshServer } from '../../packages/identity/src/http/server.ts'
import { silentLog } from '../../packages/foundation/src/platform/log.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { openDatabase } from '../../packages/foundation/src/storage/database.ts'
import { allMigrations } from '../../packages/foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../packages/foundation/src/storage/migrate.ts'

/** The dashboard of a mesh with events that the test publishes; everything but the event socket is the mesh's own. */
export interface EventPages {
  readonly url: string
  tell(body: FleetEventBody): void
  close(): Promise<void>
}

/**
 * The mesh's own event bus, with its rows and its event socket, in this process, so that a test can publish events
 * at any rate. A listener gives pages this socket and passes all other requests to the mesh.
 */
export async function startEventPages(mesh: { readonly url: string }, folder: string): Promise<EventPages> {
  const database = openDatabase(join(folder, 'told.db'))
  migrate(database, allMigrations)
  const bus = createEventBus({ database, clock: systemClock, log: silentLog })
  const events = createMeshServer(silentLog, connectionBounds, answerHeaders)
  const guard = () => {}
  const runEvents = { of: () => ({ events: [], more: false, forgotten: false }) }
  openPeople(
    events,
    [{ routes: { people: (surface) => liveRoutes(surface, { guard, events: bus, runEvents }) } }],
    {
      gate: () => ({ kind: 'human', channel: 'dashboard', role: 'owner' }),
      guard,
      people: { onChange: () => {}, isProven: () => true },
      keepAliveMs: 15_000,
      downloads: createDownloadRoom(),
      clock: systemClock,
    },
  )
  const eventsPort = Number(new URL(await events.listen({ port: 0, host: '127.0.0.1' })).port)
  const far = new URL(mesh.url)
  const listener = createServer((incoming, outgoing) => {
    const { origin, ...rest } = incoming.headers
    // Presents the page to the mesh as one of its own origin.
    const headers = { ...rest, host: far.host, ...(origin === undefined ? {} : { origin: far.origin }) }
    const onward = request(
      { host: far.hostname, port: far.port, method: incoming.method, path: incoming.url, headers },
      (reply) => {
        outgoing.writeHead(reply.statusCode ?? 502, reply.headers)
        reply.pipe(outgoing)
      },
    )
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  listener.on('upgrade', (incoming, socket, head) => {
    const onward = connect(eventsPort, '127.0.0.1', () => {
      const lines = Object.entries(incoming.headers).map(([name, value]) => `${name}: ${String(value)}`)
      onward.write(`GET ${incoming.url ?? '/'} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
      onward.write(head)
      onward.pipe(socket).pipe(onward)
    })
    onward.on('error', () => socket.destroy())
    socket.on('error', () => onward.destroy())
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const { port } = listener.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    tell: bus.publish,
    close: async () => {
      listener.closeAllConnections()
      listener.close()
      await events.close()
      database.close()
    },
  }
}
