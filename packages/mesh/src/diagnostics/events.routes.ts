import { eventsDroppedName } from '@flotilla/protocol/fleet-event'
import type { EventsDropped, FleetEvent } from '@flotilla/protocol/fleet-event'
import { meshHumanApi as api, meshHumanEndpoints as endpoints } from '@flotilla/protocol/mesh-human-api'
import type { Guard } from '../access/index.ts'
import { writtenEvent } from '../events/index.ts'
import type { EventBus } from '../events/index.ts'
import { alreadySent, openEventStream, readerLifeMs } from '../http/index.ts'
import type { EventStream, PeopleSurface } from '../http/index.ts'

/** Events handed over per step when a reader catches up: far fewer bytes than a reader may leave unread. */
const replayPageEvents = 100

/**
 * What happens in the fleet, as it happens. A stream ends after `lifeMs`: whoever reads on comes back with the last number
 * it was given, and is asked again who it is.
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
      tell: (event) => stream.sendJson(writtenEvent(event).whole, { id: event.seq }),
      tellDropped: (dropped) => stream.send(dropped, { id: dropped.dropped_until, event: eventsDroppedName }),
    })
    return alreadySent
  })
}

/** Whoever reads what happens, by whatever line. */
interface EventReader extends Pick<EventStream, 'drained' | 'signal'> {
  tell(event: FleetEvent): void
  tellDropped(dropped: EventsDropped): void
}

/**
 * Replays what is kept as fast as the reader takes it, then goes on with what happens. Between the last page and that
 * nothing can fall; each number is sent once and in order. Pieces of streamed text are kept nowhere, so whoever still
 * catches up is not told them. What is no longer kept is said, before the first page and between pages.
 */
export async function followEvents(events: EventBus, since: number, stream: EventReader): Promise<void> {
  // A number that was never given is of another home; waiting for it would be silence.
  let sent = Math.min(since, events.lastSeq())
  const deliver = (event: FleetEvent) => {
    if (event.seq <= sent) return
    sent = event.seq
    stream.tell(event)
  }
  const tellDropped = () => {
    const until = events.droppedUntil()
    if (until <= sent) return
    stream.tellDropped({ since: sent, dropped_until: until })
    sent = until
  }
  for (;;) {
    tellDropped()
    const page = events.since(sent, replayPageEvents)
    page.forEach(deliver)
    if (page.length < replayPageEvents) break
    await stream.drained()
    if (stream.signal.aborted) return
  }
  const stop = events.subscribe(deliver)
  stream.signal.addEventListener('abort', stop, { once: true })
}
