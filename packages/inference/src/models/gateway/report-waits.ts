import type { Clock } from '@flotilla/protocol/clock'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import type { EventBus } from '@flotilla/foundation/events'
import { createFairShare } from '@flotilla/foundation/intake'
import type { Failure } from './failover.ts'
import type { CatalogModel } from '../catalog/model-catalog.ts'
import { createKeepAlive } from './keep-alive.ts'
import type { Watched } from './keep-alive.ts'

/** The first notification of a wait comes after this time, milliseconds; each next one after twice the silence. */
const defaultShownAfterMs = 1000
/** The limit of notifications for one call; twenty doublings are eleven days. */
const noticesPerCallMax = 20
/**
 * Notifications per second: of all agents, of one agent, and what each of 25 agents keeps if others took the rest.
 * Excess notifications are dropped, since they only inform; the notification that a wait has ended is not limited.
 */
const eventsPerSecond = { max: 200, perAgentMax: 40, floor: 4, reserveMax: 100 }
/** The bound on names in events: an agent that may use `provider/*` can make names up. */
const nameMaxChars = 128

type Delayed = Extract<FleetEventBody, { type: 'model.delayed' }>
type Told = Pick<Delayed, 'state' | 'seconds'> & Partial<Delayed>

/** Notifies the caller of a model call why no answer comes yet. Never throws. */
export interface ReportWaits {
  begin(call: {
    readonly agentId: string
    readonly runId: string | null
    /** Aborts when the client has disconnected. */
    readonly left: AbortSignal
  }): CallWaits
}

/** The waits of one call. */
export interface CallWaits {
  /** Watches the wait for an answer or its next chunk, until one comes or the wait ends. */
  asking(model: CatalogModel): Watched
  /** The same model is asked again after `waitMs`, `elapsedMs` after the call began. */
  retrying(model: CatalogModel, failure: Failure, wait: { waitMs: number; elapsedMs: number }): void
  /** The model answers, so an announced wait is over. */
  over(model: CatalogModel): void
}

export function createReportWaits(deps: {
  readonly clock: Clock
  readonly events: Pick<EventBus, 'publish'>
  readonly stopped?: AbortSignal
  /** How long a call waits before the caller is notified. */
  readonly shownAfterMs?: number
}): ReportWaits {
  const { clock, events, shownAfterMs = defaultShownAfterMs } = deps
  const silence = createKeepAlive({ ...deps, intervalMs: shownAfterMs })
  let second = { number: 0, share: createFairShare(eventsPerSecond) }

  function hasRoom(agentId: string): boolean {
    const number = Math.floor(clock.now() / 1000)
    if (second.number !== number) second = { number, share: createFairShare(eventsPerSecond) }
    return second.share.take(agentId, 1) === null
  }

  return {
    begin({ agentId, runId, left }) {
      let noticeCount = 0
      /** Whether a wait was announced and its end was not yet. */
      let isOpen = false

      function notify(model: CatalogModel, what: Told): void {
        if (left.aborted || noticeCount >= noticesPerCallMax || !hasRoom(agentId)) return
        noticeCount++
        isOpen = true
        publish(model, what)
      }

      function publish(model: CatalogModel, what: Told): void {
        events.publish({
          type: 'model.delayed',
          agent_id: agentId,
          run_id: runId,
          model: model.id.slice(0, nameMaxChars),
          provider: model.provider.slice(0, nameMaxChars),
          provider_status: null,
          code: null,
          ...what,
        })
      }

      /** Announces that a wait is over. This needs no rate limit: it happens at most once for each announced wait. */
      function over(model: CatalogModel): void {
        if (!isOpen || left.aborted) return
        isOpen = false
        publish(model, { state: 'over', seconds: 0 })
      }

      return {
        over,
        asking: (model) =>
          ringInSilence({ clock, shownAfterMs, silence, over: () => over(model) }, (silentMs) =>
            notify(model, { state: 'silent', seconds: Math.round(silentMs / 1000) }),
          ),
        retrying(model, { problem }, { waitMs, elapsedMs }) {
          if (elapsedMs + waitMs < shownAfterMs) return
          const status = problem.extra['provider_status']
          notify(model, {
            state: 'retries',
            seconds: Math.ceil(waitMs / 1000),
            code: problem.code,
            provider_status: typeof status === 'number' ? status : null,
          })
        },
      }
    },
  }
}

/** Calls `onSilent` after `toldAfterMs` of silence, then each time the silence has at least doubled. */
function ringInSilence(
  deps: {
    readonly clock: Clock
    readonly shownAfterMs: number
    readonly silence: ReturnType<typeof createKeepAlive>
    readonly over: () => void
  },
  onSilent: (silentMs: number) => void,
): Watched {
  const { clock, shownAfterMs } = deps
  let since = clock.now()
  let dueMs = shownAfterMs
  const watched = deps.silence.watch(() => {
    const silentMs = clock.now() - since
    if (silentMs < dueMs) return
    dueMs = silentMs * 2
    onSilent(silentMs)
  })
  return {
    progressed() {
      since = clock.now()
      if (dueMs > shownAfterMs) deps.over()
      dueMs = shownAfterMs
      watched.progressed()
    },
    end: watched.end,
  }
}
