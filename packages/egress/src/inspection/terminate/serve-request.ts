import type { Readable } from 'node:stream'
import type { Log } from '@flotilla/foundation/platform'
import { refusalOf } from '../../egress/index.ts'
import type { InspectedConnection } from '../../egress/index.ts'
import type { AskPerson, KeptAnswer } from './asked-request.ts'
import type { Upstream } from './connect-upstream.ts'
import type { ForwardedRequest } from './forward-inspected.ts'
import type { RequestTurn, TakeTurn } from './request-turn.ts'

/** One inspected connection while it is open. */
export interface Session {
  readonly connection: InspectedConnection
  readonly upstream: Upstream
  readonly signal: AbortSignal
  /** Called for each request that the program sends. */
  readonly onRequest: () => void
}

/** A request of a program in one version of HTTP, and how it is answered. */
export interface ProgramExchange {
  /** Returns the request if it can be parsed in one way only. Throws a problem. */
  read(): {
    readonly method: string
    readonly path: string
    /** The headers as they would leave, names and values in turn. */
    readonly headers: readonly string[]
    readonly hasBody: boolean
  }
  readonly body: Readable
  /** Aborts when the program does not wait for the answer any more. */
  readonly signal: AbortSignal
  forward(request: ForwardedRequest): Promise<number>
  answerKept(answer: KeptAnswer): void
  refuse(refused: ReturnType<typeof refusalOf>): void
}

export interface ServeRequestDeps {
  readonly takeTurn: TakeTurn
  /** Keeps a request for a person; resolves to the answer if one approves it while the program waits. */
  readonly ask: AskPerson
  readonly newRequestId: () => string
  readonly log: Log
}

/** Checks and decides one request, whatever its version of HTTP, and forwards it, keeps it for a person or refuses it. */
export type ServeRequest = (session: Session, exchange: ProgramExchange) => Promise<void>

export function createServeRequest(deps: ServeRequestDeps): ServeRequest {
  return async ({ connection, onRequest }, exchange) => {
    onRequest()
    const { destination, identity, tunnel } = connection
    const { signal } = exchange
    let turn: RequestTurn | null = null
    try {
      const { method, path, headers, hasBody } = exchange.read()
      turn = await deps.takeTurn(connection, { method, path })
      const filled = turn.fill(headers)
      // A request that its program has cancelled has no effect.
      signal.throwIfAborted()
      if ('asked' in filled) {
        const { keepOpen } = tunnel
        const { caller } = identity
        const body = hasBody ? exchange.body : null
        const asked = { caller, destination, method, path, headers, body, ...filled.asked, signal, keepOpen }
        exchange.answerKept(await deps.ask(asked))
        return
      }
      const { answer } = turn
      const forwarded = { method, path, host: destination.host, ...filled, hasBody, answer, signal }
      turn.settled({ status: await exchange.forward(forwarded) })
    } catch (error) {
      const refused = inspectedRefusal(deps, error)
      turn?.settled({ problem: refused.code })
      exchange.refuse(refused)
    }
  }
}

/** Returns the answer that refuses a request, and logs an error of the mesh itself. */
export function inspectedRefusal(
  { newRequestId, log }: Pick<ServeRequestDeps, 'newRequestId' | 'log'>,
  error: unknown,
): ReturnType<typeof refusalOf> {
  const refused = refusalOf(error, newRequestId())
  if (refused.code === 'internal-error')
    log.error({ err: error }, 'internal error for an inspected connection; the request is rejected')
  return refused
}
