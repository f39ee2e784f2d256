import type { FastifyReply, FastifyRequest } from 'fastify'
import { headers } from '@flotilla/protocol/headers'
import { Problem } from '@flotilla/protocol/problem'
import type { HeldBytes, LoopShare } from '@flotilla/foundation/intake'
import type { Caller, Guard, RunTicket } from '../../access/index.ts'
import { linkedAgentOf } from '../link/linked-sockets.ts'

export type AgentCaller = Extract<Caller, { kind: 'agent' }>

interface TokenHolder {
  readonly agentId: string
  readonly token: 'door' | 'program'
}

export interface AgentGateDeps {
  readonly verifyToken: (token: string) => TokenHolder | null
  /** Throws the Problem `stale-fence` where run and fence are not live (ledger invariant R3). */
  readonly ticketOf: (agentId: string, runId: string, fence: number) => RunTicket
  readonly liveRunOf: (agentId: string) => RunTicket | null
  /** The number of calls that the agent disconnected from and whose responses are still read to their end. */
  readonly readingOn: (agentId: string) => number
  /** Throws the Problem `rate-limited` when the agent calls too often. */
  readonly countCall: (agentId: string, method: string, path: string) => void
  /** Checks the action that a call needs, if method and path determine it. */
  readonly guard: Guard
  readonly loop: Pick<LoopShare, 'require' | 'spend' | 'turn'>
  readonly held: HeldBytes
}

interface Admitted extends TokenHolder {
  /**
   * Bytes of body and response, counted until all work for the call has ended, because derived data is kept as long.
   */
  heldBytes: number
  /**
   * The number of holders: the client until it has its response or has disconnected, and work that continues without
   * it.
   */
  holders: number
}

/**
 * The maximum number of open calls of one agent, including those of its programs and those it disconnected from: each
 * may hold a body of megabytes.
 */
const openCallsMax = 64
/** When an agent with too many open calls may retry, in seconds. */
const openCallsRetrySeconds = 1

/**
 * Authenticates callers of the agent API. Only the token identifies the agent; bodies, paths and hint headers do not.
 * An agent token comes with run and fencing token. A program token opens only the model gateway, and is charged to
 * the lane's live run.
 */
export function createAgentGate(deps: AgentGateDeps) {
  /**
   * The lookup is stored on the request under a private symbol, because the model path is sensitive to
   * microseconds.
   */
  const admittedAs = Symbol('admitted')
  const openCalls = new Map<string, number>()

  function identify(request: FastifyRequest & { [admittedAs]?: Admitted }): Admitted {
    const known = request[admittedAs]
    if (known) return known
    const holder = deps.verifyToken(readToken(request))
    const linked = linkedAgentOf(request.raw.socket)
    // On a keyed connection, a stolen token is useless without the agent's key.
    if (!holder || (linked !== null && linked !== holder.agentId)) {
      throw new Problem('unauthenticated', { detail: 'the call has no token of a running agent' })
    }
    const admitted = { agentId: holder.agentId, token: holder.token, heldBytes: 0, holders: 0 }
    request[admittedAs] = admitted
    return admitted
  }

  function countOpen(admitted: Admitted, reply: FastifyReply): void {
    const { agentId } = admitted
    const open = openCalls.get(agentId) ?? 0
    if (open + deps.readingOn(agentId) >= openCallsMax) {
      throw new Problem('rate-limited', {
        detail: `the agent has ${openCallsMax} open calls, the maximum for one agent`,
        retryAfterSeconds: openCallsRetrySeconds,
      })
    }
    openCalls.set(agentId, open + 1)
    admitted.holders++
    reply.raw.once('close', () => {
      const left = (openCalls.get(agentId) ?? 1) - 1
      if (left > 0) openCalls.set(agentId, left)
      else openCalls.delete(agentId)
      release(admitted)
    })
  }

  function release(admitted: Admitted): void {
    admitted.holders--
    if (admitted.holders > 0 || admitted.heldBytes === 0) return
    deps.held.giveBack(admitted.agentId, admitted.heldBytes)
    admitted.heldBytes = 0
  }

  /**
   * Runs before the body is read. An unauthenticated client learns nothing about the expected request, and
   * no byte is kept or parsed for a call that its token, run, rate, share or permission refuses.
   */
  function admit(callerOf: (request: FastifyRequest) => AgentCaller) {
    return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      const admitted = identify(request)
      countOpen(admitted, reply)
      const { method, routeOptions } = request
      const path = routeOptions.url ?? ''
      deps.loop.require(admitted.agentId)
      deps.countCall(admitted.agentId, method, path)
      const turn = deps.loop.turn(admitted.agentId)
      if (turn !== null) await turn
      deps.loop.spend(admitted.agentId, () => {
        const caller = callerOf(request)
        const needed = routeOptions.config.needs?.(request.params as Record<string, string>)
        if (needed !== undefined) deps.guard(caller, needed)
      })
    }
  }

  function doorTokenOnly(request: FastifyRequest): AgentCaller {
    const { agentId, token } = identify(request)
    if (token !== 'door') {
      throw new Problem('denied', { detail: 'the token of a program may only be used for model calls' })
    }
    return { kind: 'agent', agentId, token, run: ticketFromHeaders(request, agentId) }
  }

  function modelSurface(request: FastifyRequest): AgentCaller {
    const { agentId, token } = identify(request)
    if (token === 'door') return { kind: 'agent', agentId, token, run: ticketFromHeaders(request, agentId) }
    const run = deps.liveRunOf(agentId)
    if (!run) {
      throw new Problem('denied', {
        detail: 'the agent has no active run, so it may not spend money',
      })
    }
    return { kind: 'agent', agentId, token, run }
  }

  function ticketFromHeaders(request: FastifyRequest, agentId: string): RunTicket {
    const runId = request.headers[headers.runId]
    const fence = Number(request.headers[headers.runFence])
    if (typeof runId !== 'string' || !Number.isInteger(fence)) {
      throw new Problem('bad-request', {
        detail: `every call must send the headers ${headers.runId} and ${headers.runFence}`,
      })
    }
    return deps.ticketOf(agentId, runId, fence)
  }

  return {
    doorTokenOnly,
    modelSurface,
    admitDoorToken: admit(doorTokenOnly),
    admitToModels: admit(modelSurface),
    /** Counts received bytes of a body; throws the Problem `rate-limited` if too many are held already. */
    hold(request: FastifyRequest, bytes: number): void {
      const admitted = identify(request)
      // Without holders, nothing would release the bytes.
      if (admitted.holders === 0) return
      deps.held.take(admitted.agentId, bytes)
      admitted.heldBytes += bytes
    },
    /**
     * Keeps the call's bytes counted after its client has disconnected, until the returned function is
     * called.
     */
    keep(request: FastifyRequest): () => void {
      const admitted = identify(request)
      if (admitted.holders === 0) return () => {}
      admitted.holders++
      let isKept = true
      return () => {
        if (isKept) release(admitted)
        isKept = false
      }
    },
    /** Runs synchronous work for a call, on the agent's share of the event loop. */
    spend: <T>(request: FastifyRequest, work: () => T): T => deps.loop.spend(identify(request).agentId, work),
    /**
     * The promise to await before the next work for a call; null if its agent has used little of the event loop
     * lately.
     */
    turn: (request: FastifyRequest): Promise<void> | null => deps.loop.turn(identify(request).agentId),
  }
}

export type AgentGate = ReturnType<typeof createAgentGate>

/** `Authorization: Bearer` as OpenAI clients send it, `x-api-key` as Anthropic's do, or `x-goog-api-key` as Google's. */
function readToken(request: FastifyRequest): string {
  const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  const key = request.headers['x-api-key'] ?? request.headers['x-goog-api-key']
  return bearer ?? (typeof key === 'string' ? key : '')
}
