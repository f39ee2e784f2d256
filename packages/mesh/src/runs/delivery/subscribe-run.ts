import type { FleetEvent, FleetEventBody } from '@flotilla/protocol/fleet-event'
import { Problem } from '@flotilla/protocol/problem'
import { isTerminal } from '@flotilla/protocol/run'
import type { EventBus } from '../../events/index.ts'
import type { Outbox } from './outbox.ts'
import type { RunRecord } from '../lifecycle/run-record.ts'
import type { RunTable } from '../lifecycle/run-table.ts'

/** Events kept for a reader that is slower than the fleet; older ones are dropped, the outcome never is. */
const bufferedEventsMax = 5000

export type RunFrame =
  | { readonly type: 'event'; readonly event: FleetEventBody }
  /** The last frame; the run as the ledger has it. */
  | { readonly type: 'ended'; readonly run: RunRecord }

export interface SubscribeRun {
  /**
   * Events of the run and its descendants from this call on, then `ended`. Rejects with the signal's reason; Problem
   * `not-found`. Must be read, or its signal fired.
   */
  frames(runId: string, signal: AbortSignal): AsyncGenerator<RunFrame, void, undefined>
  /** Resolves with the ended run. */
  ended(runId: string, signal: AbortSignal): Promise<RunRecord>
  /**
   * The note to whoever asked counts as delivered. For whoever knows that the outcome has come through to its reader:
   * that it was handed to a reader's line says nothing of it. Problems `not-found`, `conflict` before the run's end.
   */
  read(runId: string): void
}

export function createSubscribeRun(deps: {
  readonly table: RunTable
  readonly events: EventBus
  readonly outbox: Outbox
}): SubscribeRun {
  const { table, events, outbox } = deps

  function frames(runId: string, signal: AbortSignal): AsyncGenerator<RunFrame, void, undefined> {
    const waiting = createWaitingRoom(runId, table.descendantIds(runId))
    const stop = events.subscribe(waiting.take)
    signal.addEventListener('abort', stop, { once: true })
    return read(runId, { waiting, stop, signal })
  }

  async function* read(
    runId: string,
    { waiting, stop, signal }: Reading,
  ): AsyncGenerator<RunFrame, void, undefined> {
    try {
      for (;;) {
        signal.throwIfAborted()
        const run = table.find(runId)
        if (!run) throw new Problem('not-found')
        for (const event of waiting.empty()) yield { type: 'event', event }
        if (isTerminal(run.state)) {
          yield { type: 'ended', run }
          return
        }
        await waiting.more(signal)
      }
    } finally {
      signal.removeEventListener('abort', stop)
      stop()
    }
  }

  return {
    frames,
    ended: async (runId, signal) => {
      for await (const frame of frames(runId, signal)) {
        if (frame.type === 'ended') return frame.run
      }
      throw new Problem('not-found')
    },
    read: (runId) => {
      const run = table.find(runId)
      if (!run) throw new Problem('not-found', { detail: `there is no run ${runId.slice(0, 60)}` })
      if (!isTerminal(run.state)) throw new Problem('conflict', { detail: `run ${run.id} has not ended` })
      outbox.outcomeRead(run.id)
    },
  }
}

interface Reading {
  readonly waiting: ReturnType<typeof createWaitingRoom>
  readonly stop: () => void
  readonly signal: AbortSignal
}

/** Events of one family of runs, until they are fetched. */
function createWaitingRoom(runId: string, descendants: readonly string[]) {
  const family = new Set([runId, ...descendants])
  let kept: FleetEventBody[] = []
  let announce: (() => void) | null = null

  function concerns(event: FleetEventBody): boolean {
    if (event.type === 'run.changed' && event.parent_id !== null && family.has(event.parent_id)) {
      family.add(event.run_id)
    }
    return 'run_id' in event && event.run_id !== null && family.has(event.run_id)
  }

  return {
    take: ({ body }: FleetEvent): void => {
      if (!concerns(body)) return
      if (kept.length >= bufferedEventsMax) kept.shift()
      kept.push(body)
      announce?.()
    },
    empty: (): readonly FleetEventBody[] => {
      const taken = kept
      kept = []
      return taken
    },
    /** Resolves at once when something waits already. */
    more: (signal: AbortSignal): Promise<void> =>
      new Promise((resolve, reject) => {
        if (kept.length > 0) {
          resolve()
          return
        }
        const abort = () => reject(signal.reason)
        signal.addEventListener('abort', abort, { once: true })
        announce = () => {
          signal.removeEventListener('abort', abort)
          resolve()
        }
      }),
  }
}
