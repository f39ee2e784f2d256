import type { FastifyReply } from 'fastify'
import type { ChatStreamFrame } from '@flotilla/protocol/mesh-human-api'
import { Problem } from '@flotilla/protocol/problem'
import type { RunView } from '@flotilla/protocol/run'
import { clientGone } from '../client-gone.ts'

/** Frames of a run and its descendants; the last is `ended`. Stops when the signal aborts; the run goes on. */
export type FollowFrames = (runId: string, signal: AbortSignal) => AsyncIterable<ChatStreamFrame>

/** The ledger's word on how the run ended; a caller that leaves loses the answer and not the run. */
export async function awaitOutcome(
  follow: FollowFrames,
  runId: string,
  reply: FastifyReply,
): Promise<RunView> {
  for await (const frame of follow(runId, clientGone(reply))) if (frame.type === 'ended') return frame.run
  throw new Problem('interrupted', {
    detail: `the mesh is stopping; ask for run ${runId} later`,
    extra: { run_id: runId },
  })
}
