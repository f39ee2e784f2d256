import { QueryClient } from '@tanstack/react-query'
import { systemClock } from '@flotilla/client/system-clock'
import { followEventSocket } from '@flotilla/client/follow-event-socket'
import { createMeshClient } from '@flotilla/client/mesh-client'
import type { MeshClient } from '@flotilla/client/mesh-client'
import { dashboardEndpoints } from '@flotilla/protocol/dashboard-api'
import { dashboardSurface } from '@flotilla/protocol/headers'
import { Problem } from '@flotilla/protocol/problem'
import { createChatStore } from '../pages/chat/chat-store.ts'
import type { ChatStore } from '../pages/chat/chat-store.ts'
import { createLiveStore } from '../live/live-store.ts'
import type { LiveStore } from '../live/live-store.ts'
import { createMeshWatch } from '../live/mesh-watch.ts'
import type { MeshWatch } from '../live/mesh-watch.ts'
import { createProofStore } from './owner-proof.ts'
import type { ProofStore } from './owner-proof.ts'
import { createToastStore } from './toasts.ts'
import type { ToastStore } from './toasts.ts'

/** Number of earlier events to load, so that the activity list is not empty when the page opens. */
const recentEvents = 200

/** How long the mesh has to answer whether it is there, in milliseconds. */
const answerWithinMs = 10_000

/** The services that every page uses; created once. */
export interface Services {
  readonly client: MeshClient
  readonly queries: QueryClient
  readonly live: LiveStore
  readonly watch: MeshWatch
  readonly chats: ChatStore
  readonly toasts: ToastStore
  readonly proofs: ProofStore
  start(): void
}

export function createServices({ origin }: { readonly origin: string }): Services {
  const proofs = createProofStore()
  const client = createMeshClient({
    proof: proofs.current,
    baseUrl: origin,
    fetch: (...call) => window.fetch(...call),
    requestedWith: dashboardSurface,
  })
  const queries = new QueryClient({
    defaultOptions: {
      queries: {
        // Within this time, only events mark an answer as outdated; see `live/stale-queries.ts`.
        staleTime: 30_000,
        // The mesh may be local, so the browser's opinion whether it is online does not matter.
        networkMode: 'always',
        refetchOnWindowFocus: false,
        retry: (failures, error) => failures < 3 && error instanceof Problem && isPassing(error),
      },
      mutations: { networkMode: 'always' },
    },
  })
  const live = createLiveStore(queries)
  const watch = createMeshWatch({
    live,
    ask: () => client.call('me', { signal: AbortSignal.timeout(answerWithinMs) }),
    onBack: () => void queries.invalidateQueries(),
    now: () => systemClock.now(),
  })
  const stopped = new AbortController()
  return {
    client,
    queries,
    live,
    watch,
    chats: createChatStore(client),
    toasts: createToastStore(),
    proofs,
    start: () => {
      const url = `${origin.replace(/^http/, 'ws')}${dashboardEndpoints.eventSocket.path}`
      void followEventSocket({ url, since: -recentEvents, signal: stopped.signal }, live)
    },
  }
}

function isPassing({ code }: Problem): boolean {
  return code === 'mesh-unreachable' || code === 'rate-limited'
}
