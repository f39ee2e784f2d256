import type { FastifyReply } from 'fastify'
import { headers } from '@flotilla/protocol/headers'
import type { ChatStreamFrame } from '@flotilla/protocol/mesh-human-api'
import { Problem } from '@flotilla/protocol/problem'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import type { Caller, Guard } from '../../access/index.ts'
import type { EventBus } from '../../events/index.ts'
import { clientGone } from '../../http/index.ts'
import type { Hooks } from '../../kernel/index.ts'
import type { RunRecord } from '../lifecycle/run-record.ts'
import type { RunTable } from '../lifecycle/run-table.ts'
import type { Outbox } from './outbox.ts'
import { createFamilyEvents } from './family-events.ts'
import type { FamilyEvents } from './family-events.ts'

/** How the outcome of a run comes to whoever waits for it, and how the ledger hears that it did. */
export interface RunOutcomes {
  /**
   * `accepted`, then events of the run and its descendants from this call on, and of their agents where one is lost, then `ended`. Rejects with the signal's
   * reason, the run goes on; Problem `not-found`. Must be read, or its signal fired.
   */
  follow(runId: string, signal: AbortSignal): AsyncIterable<ChatStreamFrame>
  /**
   * The note to whoever asked counts as delivered. For whoever knows that the outcome has come through to its reader:
   * that it was handed to a reader's line says nothing of it. Problems `denied`, `not-found`, `conflict` before the end.
   */
  read(caller: Caller, runId: string): void
}

export function createRunOutcomes(deps: {
  readonly table: Pick<RunTable, 'find' | 'openBelow'>
  readonly events: EventBus
  readonly outbox: Pick<Outbox, 'outcomeRead'>
  readonly guard: Guard
  readonly hooks: Pick<Hooks, 'costsAsked'>
  readonly view: (run: RunRecord) => RunView
}): RunOutcomes {
  const { table, events, outbox, guard, hooks, view } = deps

  async function* frames(
    runId: string,
    { waiting, stop, signal }: Reading,
  ): AsyncGenerator<ChatStreamFrame, void, undefined> {
    try {
      yield { type: 'accepted', run_id: runId }
      for (;;) {
        signal.throwIfAborted()
        const run = table.find(runId)
        if (!run) throw new Problem('not-found')
        for (const event of waiting.empty()) yield { type: 'event', event }
        if (isTerminal(run.state)) {
          // Who is told the outcome is told the whole cost.
          hooks.costsAsked.tell()
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

  return {
    follow: (runId, signal) => {
      const waiting = createFamilyEvents(runId, table.openBelow(runId), table.find(runId)?.agentId)
      const stop = events.subscribe(waiting.take)
      signal.addEventListener('abort', stop, { once: true })
      return frames(runId, { waiting, stop, signal })
    },
    read: (caller, runId) => {
      const run = table.find(runId)
      // It changes what counts as told, which a viewer does not.
      guard(caller, { do: 'submit-run', to: run?.agentId ?? '' })
      if (!run) throw new Problem('not-found', { detail: `there is no run ${runId.slice(0, 60)}` })
      if (!isTerminal(run.state)) throw new Problem('conflict', { detail: `run ${run.id} has not ended` })
      outbox.outcomeRead(run.id)
    },
  }
}

interface Awaited {
  readonly runId: string
  readonly caller: Caller
}

/** The ledger's word on how the run ended; a caller that leaves loses the answer and not the run. */
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
    detail: `the mesh is stopping; ask for run ${runId} later`,
    extra: { run_id: runId },
  })
}

/**
 * To be called before the last of a reply is sent. Whoever says itself when it has read is believed; of all others is
 * known no more than that the whole reply was handed to their line while that stood. A line that broke before tells
 * nobody anything.
 */
export function readWhenSent(outcomes: RunOutcomes, { runId, caller }: Awaited, reply: FastifyReply): void {
  if (reply.request.headers[headers.saysWhenRead] !== undefined) return
  const { raw } = reply
  let isBroken = raw.destroyed
  raw.once('close', () => (isBroken = true))
  raw.once('finish', () => {
    // What is written to a line that was closed before is finished as well.
    if (isBroken) return
    try {
      outcomes.read(caller, runId)
    } catch {
      // The mesh is closing its database: it stays open, which is seen, and is told again to whoever asks again.
    }
  })
}

interface Reading {
  readonly waiting: FamilyEvents
  readonly stop: () => void
  readonly signal: AbortSignal
}
