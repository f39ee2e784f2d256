import type { FastifyReply } from 'fastify'
import type { FleetEvent, FleetEventBody } from '@flotilla/protocol/fleet-event'
import { headers } from '@flotilla/protocol/headers'
import type { ChatStreamFrame } from '@flotilla/protocol/mesh-human-api'
import { noSuchRun } from '@flotilla/protocol/not-found'
import { Problem } from '@flotilla/protocol/problem'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { EventBus } from '@flotilla/foundation/events'
import { clientGone } from '@flotilla/identity/http'
import type { WorkEvents } from '../../events/index.ts'
import type { RunRecord } from '../ledger/run-record.ts'
import type { RunTable } from '../ledger/run-table.ts'
import type { Outbox } from '../ledger/outbox.ts'
import { createFamilyEvents } from './family-events.ts'
import type { FamilyEvents } from './family-events.ts'
import { createStreamedTexts } from './streamed-texts.ts'

/** The maximum number of stored events of a run that a later reader gets, its oldest ones. */
const replayedEventsMax = 1000

/** Streams a run's outcome to its clients and records that they received it. */
export interface RunOutcomes {
  /**
   * Yields `accepted`, then events of the run and its descendants from this call on, including failures of their
   * agents, then `ended`. Rejects with the signal's reason if the signal fires before; Problem `not-found`. The
   * caller must read to the end or fire its signal.
   */
  follow(runId: string, signal: AbortSignal): AsyncIterable<ChatStreamFrame>
  /**
   * The same for a reader that comes later: behind `accepted`, it yields the stored events of the run and the text that
   * it has streamed so far, in their order.
   */
  replay(runId: string, signal: AbortSignal): AsyncIterable<ChatStreamFrame>
  /**
   * Marks the caller's notification as delivered. For clients that confirm that their user got the outcome; a reply
   * written to the connection does not prove that. Problems `denied`, `not-found`, `conflict` before the run's end.
   */
  read(caller: Caller, runId: string): void
}

export function createRunOutcomes(deps: {
  readonly table: Pick<RunTable, 'find' | 'openBelow'>
  readonly events: EventBus
  readonly outbox: Pick<Outbox, 'outcomeRead'>
  readonly guard: Guard
  readonly workEvents: Pick<WorkEvents, 'costsRequested'>
  readonly view: (run: RunRecord) => RunView
}): RunOutcomes {
  const { table, events, outbox, guard, workEvents, view } = deps

  async function* frames(
    runId: string,
    { waiting, stop, signal, past }: Reading,
  ): AsyncGenerator<ChatStreamFrame, void, undefined> {
    try {
      yield { type: 'accepted', run_id: runId }
      for (const event of past) yield { type: 'event', event }
      for (;;) {
        signal.throwIfAborted()
        const run = table.find(runId)
        if (!run) throw noSuchRun(runId)
        for (const event of waiting.empty()) yield { type: 'event', event }
        if (isTerminal(run.state)) {
          // Asks for pending costs to be written first, because the outcome must include the whole cost.
          workEvents.costsRequested.publish()
          yield { type: 'ended', run: view(table.find(runId) ?? run) }
          return
        }
        await waiting.more(signal)
      }
    } finally {
      signal.removeEventListener('abort', stop)
      stop()
    }
  }

  const texts = createStreamedTexts()
  events.subscribe(texts.take)

  function begin(runId: string, signal: AbortSignal, past: readonly FleetEvent[]) {
    const waiting = createFamilyEvents(runId, table.openBelow(runId), table.find(runId)?.agentId)
    const stop = events.subscribe(waiting.take)
    signal.addEventListener('abort', stop, { once: true })
    const ordered = past.toSorted((one, other) => one.seq - other.seq).map(({ body }) => body)
    return frames(runId, { waiting, stop, signal, past: ordered })
  }

  return {
    follow: (runId, signal) => begin(runId, signal, []),
    replay: (runId, signal) =>
      begin(runId, signal, [...events.ofRun(runId, { limit: replayedEventsMax }), ...texts.of(runId)]),
    read: (caller, runId) => {
      const run = table.find(runId)
      // A confirmation changes the delivery state, so a caller that may only view is rejected.
      guard(caller, { do: 'submit-run', to: run?.agentId ?? '' })
      if (!run) throw noSuchRun(runId)
      if (!isTerminal(run.state)) throw new Problem('conflict', { detail: `run ${run.id} has not ended` })
      outbox.outcomeRead(run.id)
    },
  }
}

interface Awaited {
  readonly runId: string
  readonly caller: Caller
}

/** Returns the outcome of a run once it has ended. A caller that disconnects loses the answer but ends no run. */
export async function awaitOutcome(
  outcomes: RunOutcomes,
  { runId, caller }: Awaited,
  reply: FastifyReply,
): Promise<RunView> {
  for await (const frame of outcomes.follow(runId, clientGone(reply))) {
    if (frame.type !== 'ended') continue
    readWhenSent(outcomes, { runId, caller }, reply)
    return frame.run
  }
  throw new Problem('interrupted', {
    detail: `the mesh is stopping; request the outcome of run ${runId} again after the next start`,
    extra: { run_id: runId },
  })
}

/**
 * Marks the outcome as delivered when the whole reply was sent; call this before the last part is sent. Clients that
 * confirm delivery themselves are left out. For all others the reply counts as delivered if the connection was open
 * when it was sent.
 */
export function readWhenSent(outcomes: RunOutcomes, { runId, caller }: Awaited, reply: FastifyReply): void {
  if (reply.request.headers[headers.confirmsRead] !== undefined) return
  const { raw } = reply
  let isBroken = raw.destroyed
  raw.once('close', () => (isBroken = true))
  raw.once('finish', () => {
    // Node also emits `finish` after a write to a connection that was already closed.
    if (isBroken) return
    try {
      outcomes.read(caller, runId)
    } catch {
      // The mesh is closing its database. The notification stays pending, and the next request gets it.
    }
  })
}

interface Reading {
  /** Events from before the reading. */
  readonly past: readonly FleetEventBody[]
  readonly waiting: FamilyEvents
  readonly stop: () => void
  readonly signal: AbortSignal
}
