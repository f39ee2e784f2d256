import type { FastifyReply, FastifyRequest } from 'fastify'
import { headers } from '@flotilla/protocol/headers'
import { Problem } from '@flotilla/protocol/problem'
import { isModelSurface } from '@flotilla/protocol/rate-buckets'
import { withOpenAiError } from '../../llm/openai-error.ts'
import type { Caller } from '../../policy/caller.ts'
import type { RunTicket } from '../../runs/run-ticket.ts'

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
  /** Calls that the agent hung up on and whose answers are read to their end all the same. */
  readonly readingOn: (agentId: string) => number
  /** Throws the Problem `rate-limited` when the agent calls too often. */
  readonly countCall: (agentId: string, method: string, path: string) => void
}

/** Calls that one agent may have open at once, its programs' and those it hung up on among them: each may hold a body of megabytes. */
const openCallsMax = 64
const openCallsRetrySeconds = 1

/**
 * Who is on the agent door. The token says which agent; nothing in a body, path or hint header does. A door token
 * comes with run and fence. A program token opens the model surface alone, and is charged to the lane's live run.
 */
export function createAgentGate(deps: AgentGateDeps) {
  /** Looked up once for each request: the model path counts its microseconds. */
  const identified = new WeakMap<FastifyRequest, TokenHolder>()
  const openCalls = new Map<string, number>()

  function identify(request: FastifyRequest): TokenHolder {
    const found = identified.get(request) ?? deps.verifyToken(readToken(request))
    if (!found) throw new Problem('unauthenticated', { detail: 'no token of a running agent' })
    identified.set(request, found)
    return found
  }

  function countOpen(agentId: string, reply: FastifyReply): void {
    const open = openCalls.get(agentId) ?? 0
    if (open + deps.readingOn(agentId) >= openCallsMax) {
      throw new Problem('rate-limited', {
        detail: `at most ${openCallsMax} calls of one agent are open at once`,
        retryAfterSeconds: openCallsRetrySeconds,
      })
    }
    openCalls.set(agentId, open + 1)
    reply.raw.once('close', () => {
      const left = (openCalls.get(agentId) ?? 1) - 1
      if (left > 0) openCalls.set(agentId, left)
      else openCalls.delete(agentId)
    })
  }

  function doorOnly(request: FastifyRequest): AgentCaller {
    const { agentId, token } = identify(request)
    if (token !== 'door') {
      throw new Problem('denied', { detail: 'a program token opens the model surface only' })
    }
    return { kind: 'agent', agentId, token, run: ticketFromHeaders(request, agentId) }
  }

  function modelSurface(request: FastifyRequest): AgentCaller {
    const { agentId, token } = identify(request)
    if (token === 'door') return { kind: 'agent', agentId, token, run: ticketFromHeaders(request, agentId) }
    const run = deps.liveRunOf(agentId)
    if (!run) {
      throw new Problem('denied', {
        detail: 'no run of this agent is live, so nothing may be spent in its name',
      })
    }
    return { kind: 'agent', agentId, token, run }
  }

  function ticketFromHeaders(request: FastifyRequest, agentId: string): RunTicket {
    const runId = request.headers[headers.runId]
    const fence = Number(request.headers[headers.runFence])
    if (typeof runId !== 'string' || !Number.isInteger(fence)) {
      throw new Problem('bad-request', {
        detail: `send ${headers.runId} and ${headers.runFence} with every call`,
      })
    }
    return deps.ticketOf(agentId, runId, fence)
  }

  return {
    doorOnly,
    modelSurface,
    /** Goes before the body is read: a stranger is told nothing of what it should have sent, nor can it make us keep it. */
    async refuseStrangers(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const { agentId } = identify(request)
      countOpen(agentId, reply)
      const path = request.routeOptions.url ?? ''
      try {
        deps.countCall(agentId, request.method, path)
      } catch (error) {
        throw isModelSurface(path) && error instanceof Problem ? withOpenAiError(error) : error
      }
    },
  }
}

/** `Authorization: Bearer` as OpenAI clients send it, or `x-api-key` as Anthropic clients do. */
function readToken(request: FastifyRequest): string {
  const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  const key = request.headers['x-api-key']
  return bearer ?? (typeof key === 'string' ? key : '')
}
