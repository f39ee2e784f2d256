import type { FastifyReply } from 'fastify'
import { headers } from '@flotilla/protocol/headers'
import type { ChatStreamFrame } from '@flotilla/protocol/mesh-human-api'
import { Problem } from '@flotilla/protocol/problem'
import type { RunView } from '@flotilla/protocol/run'
import type { Caller, Guard } from '../../access/index.ts'
import { clientGone } from '../../http/index.ts'
import type { Hooks } from '../../kernel/index.ts'
import type { Ledger } from '../ledger.ts'

/** How the outcome of a run comes to whoever waits for it, and how the ledger hears that it did. */
export interface RunOutcomes {
  /** Frames of a run and its descendants; the last is `ended`. Stops when the signal aborts; the run goes on. */
  follow(runId: string, signal: AbortSignal): AsyncIterable<ChatStreamFrame>
  /** Problems `denied`, `not-found`, `conflict` for a run that goes on. */
  read(caller: Caller, runId: string): void
}

export function createRunOutcomes(deps: {
  readonly guard: Guard
  readonly ledger: Pick<Ledger, 'find' | 'subscribe' | 'view'>
  readonly hooks: Pick<Hooks, 'costsAsked'>
}): RunOutcomes {
  const { ledger, hooks } = deps
  return {
    follow: async function* (runId, signal) {
      yield { type: 'accepted', run_id: runId }
      for await (const frame of ledger.subscribe.frames(runId, signal)) {
        if (frame.type === 'event') yield frame
        else {
          // Who is told the outcome is told the whole cost.
          hooks.costsAsked.tell()
          yield { type: 'ended', run: ledger.view(ledger.find(frame.run.id) ?? frame.run) }
        }
      }
    },
    read: (caller, runId) => {
      deps.guard(caller, { do: 'view-fleet' })
      ledger.subscribe.read(runId)
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
