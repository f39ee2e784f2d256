import { eventsDroppedName } from '@flotilla/protocol/fleet-event'
import type { EventsDropped, FleetEvent } from '@flotilla/protocol/fleet-event'
import { meshHumanApi as api, meshHumanEndpoints as endpoints } from '@flotilla/protocol/mesh-human-api'
import type { Guard } from '@flotilla/identity/access'
import { writtenEvent } from '@flotilla/foundation/events'
import type { EventBus } from '@flotilla/foundation/events'
import { alreadySent, openEventStream, readerLifeMs } from '@flotilla/identity/http'
import type { EventStream, PeopleSurface } from '@flotilla/identity/http'

/** Events per step while a reader catches up: far fewer bytes than a reader may leave unread. */
const replayPageEvents = 100

/**
 * Streams the events of the fleet. A stream ends after `lifeMs`; the client reconnects with the last number that it
 * received and is authenticated again.
 */
export function eventRoutes(
  { bind, keepAliveMs }: PeopleSurface,
  {
    guard,
    events,
    lifeMs = readerLifeMs,
  }: { readonly guard: Guard; readonly events: EventBus; readonly lifeMs?: number },
): void {
  bind(endpoints.events, api.events, async ({ caller, raw, query, reply }) => {
    guard(caller, { do: 'view-fleet' })
    const lastId = Number(raw.headers['last-event-id'])
    const stream = openEventStream(reply, keepAliveMs)
    const life = setTimeout(stream.end, lifeMs)
    stream.signal.addEventListener('abort', () => clearTimeout(life), { once: true })
    await followEvents(events, Number.isInteger(lastId) ? lastId : query.since, {
      signal: stream.signal,
      drained: () => stream.drained(),
      sendEvent: (event) => stream.sendJson(writtenEvent(event).whole, { id: event.seq }),
      sendDropped: (dropped) => stream.send(dropped, { id: dropped.dropped_until, event: eventsDroppedName }),
    })
    return alreadySent
  })
}

/** A client that reads events, over a stream or a socket. */
interface EventReader extends Pick<EventStream, 'drained' | 'signal'> {
  sendEvent(event: FleetEvent): void
  sendDropped(dropped: EventsDropped): void
}

/**
 * Replays stored events as fast as the reader accepts them, then continues with new ones. Nothing is lost in between;
 * each number is sent once and in order. Pieces of streamed text are not stored, so a reader that catches up does not
 * receive them. Deleted events are reported before the first page and between pages.
 */
export async function followEvents(events: EventBus, since: number, stream: EventReader): Promise<void> {
  // A number above the last one comes from another home; waiting for it would give a silent stream.
  let sent = Math.min(since, events.lastSeq())
  const deliver = (event: FleetEvent) => {
    if (event.seq <= sent) return
    sent = event.seq
    stream.sendEvent(event)
  }
  const sendDropped = () => {
    const until = events.droppedUntil()
    if (until <= sent) return
    stream.sendDropped({ since: sent, dropped_until: until })
    sent = until
  }
  for (;;) {
    sendDropped()
    const page = events.since(sent, replayPageEvents)
    page.forEach(deliver)
    if (page.length < replayPageEvents) break
    await stream.drained()
    if (stream.signal.aborted) return
  }
  const stop = events.subscribe(deliver)
  stream.signal.addEventListener('abort', stop, { once: true })
}
