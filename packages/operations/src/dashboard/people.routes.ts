import type { FastifyReply, FastifyRequest } from 'fastify'
import { dashboardApi, dashboardEndpoints, dashboardPageEndpoints } from '@flotilla/protocol/dashboard-api'
import type { EventFrame } from '@flotilla/protocol/dashboard-api'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import { followEvents } from '../diagnostics/index.ts'
import { writtenEvent } from '@flotilla/foundation/events'
import type { EventBus } from '@flotilla/foundation/events'
import { alreadySent, openEventSocket } from '@flotilla/identity/http'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { AppFile, BuiltApp } from './built-app.ts'
import { assetHeaders, pageHeaders } from './page-headers.ts'
import type { RunEvents } from './run-events.ts'

/** Serves the pages and their files. All pages are one document, which renders by its address. */
export function pageRoutes(
  { bind }: PeopleSurface,
  { guard, app }: { readonly guard: Guard; readonly app: () => Promise<BuiltApp | null> },
): void {
  const readApp = async (caller: Caller): Promise<BuiltApp> => {
    guard(caller, { do: 'view-fleet' })
    const built = await app()
    if (built) return built
    throw new Problem('not-found', {
      detail: 'the sources of the dashboard have changed since it was built',
      repair: 'Run npm run build in the folder of Flotilla, then load this page again.',
    })
  }
  for (const page of Object.values(dashboardPageEndpoints)) {
    bind(page, {}, async ({ caller, raw, reply }) => {
      const { page } = await readApp(caller)
      void reply.headers(pageHeaders)
      return sendFile(raw, reply, page)
    })
  }
  bind(dashboardEndpoints.dashboardAsset, dashboardApi.dashboardAsset, async (request) => {
    const { caller, params, raw, reply } = request
    const { assets } = await readApp(caller)
    const file = assets.get(params.name)
    if (!file) throw new Problem('not-found', { detail: 'the dashboard has no file at this path' })
    void reply.headers(assetHeaders)
    return sendFile(raw, reply, file)
  })
}

/** Streams events of the fleet over a socket, and lists those of one run. */
export function liveRoutes(
  { bind, keepAliveMs }: PeopleSurface,
  {
    guard,
    events,
    runEvents,
  }: { readonly guard: Guard; readonly events: EventBus; readonly runEvents: RunEvents },
): void {
  bind(dashboardEndpoints.eventSocket, dashboardApi.eventSocket, async ({ caller, query, raw, reply }) => {
    guard(caller, { do: 'view-fleet' })
    let hasCaughtUp = false
    const alive = (): EventFrame => ({ type: 'alive', seq: hasCaughtUp ? events.lastSeq() : 0 })
    const socket = await openEventSocket(raw, reply, { caller, keepAliveMs, alive })
    // A client that resumes learns at once that the connection works, even without events.
    socket.send(alive())
    const since =
      query.since < 0 ? Math.max(events.droppedUntil(), events.lastSeq() + query.since) : query.since
    await followEvents(events, since, {
      signal: socket.signal,
      drained: () => socket.drained(),
      sendEvent: (event) => socket.sendJson(writtenEvent(event).frame()),
      sendDropped: (dropped) => socket.send({ type: 'dropped', dropped } satisfies EventFrame),
    })
    hasCaughtUp = true
    socket.send(alive())
    return alreadySent
  })
  bind(dashboardEndpoints.runEvents, dashboardApi.runEvents, ({ caller, params, query }) =>
    runEvents.of(caller, params.id, query.only),
  )
}

function sendFile(raw: FastifyRequest, reply: FastifyReply, file: AppFile): Buffer {
  const packed = /\bgzip\b/.test(raw.headers['accept-encoding'] ?? '')
  void reply.type(file.contentType).header('vary', 'accept-encoding')
  if (packed) void reply.header('content-encoding', 'gzip')
  return packed ? file.gzipped : file.bytes
}
