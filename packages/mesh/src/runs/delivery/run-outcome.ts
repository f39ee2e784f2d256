import type { FastifyReply } from 'fastify'
import { headers } from '@flotilla/protocol/headers'
import type { ChatStreamFrame } from '@flotilla/protocol/mesh-human-api'
import { Problem } from '@flotilla/protocol/problem'
import type { RunView } from '@flotilla/protocol/run'
import type { Caller } from '../../access/caller.ts'
import { clientGone } from '../../http/client-gone.ts'

/** Frames of a run and its descendants; the last is `ended`. Stops when the signal aborts; the run goes on. */
export type FollowFrames = (runId: string, signal: AbortSignal) => AsyncIterable<ChatStreamFrame>

/** How the outcome of a run comes to whoever waits for it, and how the ledger hears that it did. */
export interface TellOutcome {
  readonly follow: FollowFrames
  /** Problems `denied`, `not-found`, `conflict` for a run that goes on. */
  outcomeRead(caller: Caller, runId: string): void
}

/** The ledger's word on how the run ended; a caller that leaves loses the answer and not the run. */
export async function awaitOutcome(
  use: TellOutcome,
  { runId, caller }: { readonly runId: string; readonly caller: Caller },
  reply: FastifyReply,
): Promise<RunView> {
  for await (const frame of use.follow(runId, clientGone(reply))) {
    if (frame.type !== 'ended') continue
    readWhenSent(use, { runId, caller }, reply)
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
export function readWhenSent(
  use: TellOutcome,
  { runId, caller }: { readonly runId: string; readonly caller: Caller },
  reply: FastifyReply,
): void {
  if (reply.request.headers[headers.saysWhenRead] !== undefined) return
  const { raw } = reply
  let isBroken = raw.destroyed
  raw.once('close', () => (isBroken = true))
  raw.once('finish', () => {
    // What is written to a line that was closed before is finished as well.
    if (isBroken) return
    try {
      use.outcomeRead(caller, runId)
    } catch {
      // The mesh is closing its database: it stays open, which is seen, and is told again to whoever asks again.
    }
  })
}
