import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { OutsideLine } from '@flotilla/foundation/effects'
import { returnedHeaders, startDeadline } from '../../egress/index.ts'
import type { AgentCaller, Destination } from '../../egress/index.ts'
import type { KeptAnswer } from '../terminate/asked-request.ts'
import { connectUpstream } from '../terminate/connect-upstream.ts'
import type { TakeTurn } from '../terminate/request-turn.ts'
import type { Protocol, SecureServer } from '../terminate/secure-server.ts'
import type { UpstreamAnswer } from '../terminate/upstream-request.ts'

/** How long an approved request of a program may take, in milliseconds. */
const sendTimeoutMs = 120_000
/** The maximum size of the answer to an approved request, in bytes; what follows is not read. */
const answerMaxBytes = 1024 * 1024
/** HTTP/1.1 where the server speaks it, so that a request leaves in the form that every server reads. */
const offered: readonly Protocol[] = ['http/1.1', 'h2']

/** A request of a program as it was kept: with placeholders in place of credentials. */
export interface KeptRequest {
  readonly destination: Destination
  readonly method: string
  readonly path: string
  /** Names and values in turn, without framing. */
  readonly headers: readonly string[]
  /** The names of the credentials that the person was shown. */
  readonly credentials: readonly string[]
  readonly body: Buffer
}

/**
 * Sends a request of a program that a person approved, over a new verified connection to its host. Permission, policy
 * and filter are checked again before. `isCut` is true if the answer has more bytes than the mesh reads.
 */
export type SendKept = (
  caller: AgentCaller,
  kept: KeptRequest,
  line: OutsideLine,
) => Promise<KeptAnswer & { readonly isCut: boolean }>

export function createSendKept(deps: {
  readonly takeTurn: TakeTurn
  readonly dialFor: (agentId: string, destination: Destination, signal: AbortSignal) => Promise<Socket>
  readonly secure: SecureServer
  readonly clock: Clock
}): SendKept {
  return async (caller, { destination, method, path, headers, credentials, body }, line) => {
    const turn = await deps.takeTurn({ identity: { caller }, destination }, { method, path })
    const deadline = startDeadline(deps.clock, sendTimeoutMs, line.signal)
    const { signal } = deadline
    try {
      const filled = [...turn.fillApproved(headers, credentials)]
      const dial = () => deps.dialFor(caller.agentId, destination, signal)
      const { secure, clock } = deps
      const upstream = await connectUpstream({ destination, dial, secure, offered, clock, signal })
      try {
        line.dispatching()
        const reply = await upstream.send[upstream.protocol]({
          method,
          path,
          headers: filled,
          body: body.length === 0 ? null : body,
          signal,
        })
        const answered = turn.answer.headers(returnedHeaders(reply.headers))
        const read = await readAnswer(reply, turn.answer.body(reply.headers))
        const trailers = turn.answer.headers(reply.trailers())
        turn.settled({ status: reply.status })
        return { status: reply.status, headers: answered, trailers, ...read }
      } finally {
        await upstream.close()
      }
    } catch (error) {
      const problem = signal.aborted ? asProblem(signal.reason) : asProblem(error)
      turn.settled({ problem: problem.code })
      throw problem
    } finally {
      deadline.clear()
    }
  }
}

async function readAnswer({ body }: UpstreamAnswer, filter: NodeJS.ReadWriteStream | null) {
  const clean = new PassThrough()
  const piped = filter === null ? pipeline(body, clean) : pipeline(body, filter, clean)
  // The loop below reports the error.
  piped.catch(() => {})
  const chunks: Buffer[] = []
  let size = 0
  for await (const given of clean) {
    const chunk = Buffer.from(given as Uint8Array)
    size += chunk.length
    if (size > answerMaxBytes) break
    chunks.push(chunk)
  }
  return { body: Buffer.concat(chunks), isCut: size > answerMaxBytes }
}

function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  return new Problem('upstream-failed', { detail: 'the host did not answer with HTTP', cause: error })
}
