import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { OutsideLine } from '@flotilla/foundation/effects'
import { returnedHeaders, startDeadline } from '../../egress/index.ts'
import type { AgentCaller, Destination } from '../../egress/index.ts'
import type { KeptAnswer } from '../terminate/asked-request.ts'
import { connectUpstream } from '../terminate/connect-upstream.ts'
import type { SecureServer } from '../terminate/connect-upstream.ts'
import { rawHeaders } from '../terminate/forward-inspected.ts'
import type { TakeTurn } from '../terminate/inspected-server.ts'

/** How long an approved request of a program may take, in milliseconds. */
const sendTimeoutMs = 120_000
/** The maximum size of the answer to an approved request, in bytes; what follows is not read. */
const answerMaxBytes = 1024 * 1024

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
      const upstream = await connectUpstream({ destination, dial, secure: deps.secure, signal })
      try {
        line.dispatching()
        const reply = await upstream.client.request({
          method,
          path,
          headers: filled,
          body: body.length === 0 ? null : body,
          responseHeaders: 'raw',
          signal,
        })
        reply.body.on('error', () => {})
        const raw = rawHeaders(reply.headers)
        const answered = turn.answer.headers(returnedHeaders(raw))
        const read = await readAnswer(reply.body, turn.answer.body(raw))
        turn.settled({ status: reply.statusCode })
        return { status: reply.statusCode, headers: answered, ...read }
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

async function readAnswer(body: Readable, filter: NodeJS.ReadWriteStream | null) {
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
