import type { QueryClient } from '@tanstack/react-query'
import type { SocketListener } from '@flotilla/client/follow-event-socket'
import type { EventsDropped, FleetEvent } from '@flotilla/protocol/fleet-event'
import { isPassing } from '@flotilla/protocol/fleet-event'
import { createRefresher } from './refresher.ts'
import { takeDelays } from './run-delays.ts'
import type { RunDelays } from './run-delays.ts'
import { staleQueries } from './stale-queries.ts'

/** Number of newest events that the page keeps. */
const keptMax = 400
/** Events are rendered in batches, so that thousands a minute cause only a few renders a second. */
const drawEveryMs = 150

export interface LiveState {
  readonly line: 'connecting' | 'live' | 'broken'
  /** Events, newest last, without chunks of streamed text. */
  readonly events: readonly FleetEvent[]
  /** The last sequence number received. */
  readonly seq: number
  /** The runs whose model is called again later. */
  readonly delays: RunDelays
  /** How many events the mesh reported as dropped for this page. */
  readonly dropped: number
}

/** The events of the fleet for the pages, received from a socket. */
export interface LiveStore extends SocketListener {
  read(): LiveState
  subscribe(listener: () => void): () => void
}

export function createLiveStore(queries: Pick<QueryClient, 'invalidateQueries' | 'isFetching'>): LiveStore {
  const listeners = new Set<() => void>()
  const refresher = createRefresher(queries)
  let came: FleetEvent[] = []
  let state: LiveState = { line: 'connecting', events: [], seq: 0, delays: new Map(), dropped: 0 }
  let drawing: ReturnType<typeof setTimeout> | null = null

  function change(part: Partial<LiveState>): void {
    state = { ...state, ...part }
    for (const listener of listeners) listener()
  }

  function draw(): void {
    drawing = null
    const kept = came.filter(({ body }) => !isPassing(body))
    const seq = came.at(-1)?.seq ?? state.seq
    const delays = takeDelays(state.delays, came)
    came = []
    change({
      seq,
      delays,
      ...(kept.length === 0 ? {} : { events: [...state.events, ...kept].slice(-keptMax) }),
    })
  }

  return {
    read: () => state,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    onEvent: (event) => {
      came.push(event)
      drawing ??= setTimeout(draw, drawEveryMs)
      refresher.markStale(staleQueries[event.body.type])
    },
    onDropped: ({ since, dropped_until }: EventsDropped) => {
      change({ dropped: state.dropped + (dropped_until - Math.max(0, since)) })
      // Missed events may have changed anything, so all answers are outdated.
      refresher.markAllStale()
    },
    onState: (line) => {
      if (line === state.line) return
      const returned = state.line === 'broken' && line === 'live'
      change({ line })
      if (returned) refresher.markAllStale()
    },
  }
}
