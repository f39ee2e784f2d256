import type { Clock } from '@flotilla/protocol/clock'
import type { httpReplySchema, httpRequestSchema } from '@flotilla/protocol/mesh-agent-api'
import { Problem } from '@flotilla/protocol/problem'
import type * as z from 'zod/mini'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard, RunTicket } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { OutsideLine } from '@flotilla/foundation/effects'
import { namesInRequest } from '../../credentials/index.ts'
import type { OpenCredentials } from '../../credentials/index.ts'
import type { LoopShare } from '@flotilla/foundation/intake'
import type { CheckEffect, PolicyDecision } from '@flotilla/identity/policy'
import { startDeadline } from './deadline.ts'
import { policedFetch, requestEffect } from './request-effect.ts'
import { followRedirects } from './follow-redirects.ts'
import type { PinnedFetch } from './pinned-fetch.ts'
import { readBytes, textOf } from './read-text.ts'
import { checkedHeaders, shownHeaders } from './request-headers.ts'
import { withoutSecrets } from './without-secrets.ts'

export type HttpRequest = z.infer<typeof httpRequestSchema>
export type HttpReply = z.infer<typeof httpReplySchema>

/**
 * `http_request`: fetches a public address for an agent. Its permission is decided here and not in the container, and
 * credential handles are replaced only here. Throws `denied`, `rate-limited`, `bad-request`, `credential-unknown`,
 * `credential-refused`, `policy-denied`, `approval-required`, `address-refused`, `upstream-failed`, `upstream-timeout`.
 */
export type ForwardRequest = (caller: Caller, request: HttpRequest, line: OpenLine) => Promise<HttpReply>

export interface OpenLine extends OutsideLine {
  /**
   * Aborts when the client has disconnected. The request continues to its end or timeout, because the server may have
   * acted on it and a repeated call gets the answer; but it no longer extends the lease of the run.
   */
  readonly gone: AbortSignal
  /** The idempotency key of the agent's call; absent if the mesh makes the request itself. */
  readonly key?: string
}

export interface ForwardRequestDeps {
  readonly guard: Guard
  readonly fetchFor: (agentId: string) => PinnedFetch
  readonly journal: Journal
  readonly clock: Clock
  /** Keeps the run's lease alive while the call is open; returns the function that stops it. */
  readonly holdLease: (run: RunTicket | null) => () => void
  /** Replaces handles by values, and removes values from answers. */
  readonly credentials: OpenCredentials
  readonly loop: Pick<LoopShare, 'spend'>
  readonly checkEffect: CheckEffect
  /** What to do with a request that a rule asks for: store it for a person and throw; nothing if one has approved it. */
  readonly ask: (
    caller: Extract<Caller, { kind: 'agent' }>,
    request: HttpRequest,
    asked: { readonly decision: PolicyDecision; readonly key: string | undefined },
  ) => void
}

export function createForwardRequest(deps: ForwardRequestDeps): ForwardRequest {
  return async (caller, request, { signal, gone, dispatching, key }) => {
    deps.guard(caller, { do: 'call-api', api: 'http' })
    if (caller.kind !== 'agent') throw new Problem('denied')
    const headers = checkedHeaders(request.headers)
    const decision = deps.checkEffect(caller, requestEffect(request))
    if (decision.verdict === 'ask') deps.ask(caller, request, { decision, key })
    const credentials = deps.credentials(caller)
    const filled = credentials.fillIn({ url: request.url, headers, body: request.body })
    const { url } = filled
    const deadline = startDeadline(deps.clock, request.timeout_ms, signal)
    const release = deps.holdLease(caller.run)
    if (gone.aborted) release()
    gone.addEventListener('abort', release, { once: true })
    let answered: number | null = null
    const record = (detail: Record<string, string | number>) =>
      deps.journal.append({
        actor: actorOf(caller),
        action: 'http.requested',
        subject: url.host,
        detail: {
          method: request.method,
          ...(decision.rule === null ? {} : { rule: decision.rule }),
          ...detail,
        },
      })
    try {
      const sent = { ...filled, method: request.method, onLeaving: dispatching }
      const outgoingRequest = { ...sent, tool: 'http_request', credentials: namesInRequest(request) } as const
      const { reply, url: reached } = await followRedirects(
        policedFetch(deps, caller, outgoingRequest),
        outgoingRequest,
        deadline.signal,
      )
      answered = reply.status
      try {
        const body = await readBytes(reply, deadline.signal)
        return deps.loop.spend(caller.agentId, () => {
          const text = textOf(body, credentials.scrub)
          record({ status: reply.status, bytes: text.bytes, host: credentials.scrub.text(reached.host) })
          return {
            status: reply.status,
            url: credentials.scrub.text(reached.href),
            headers: shownHeaders(credentials.scrub.record(reply.headers)),
            body: text.text,
            truncated: text.truncated,
          }
        })
      } finally {
        await reply.close()
      }
    } catch (error) {
      const status = answered === null ? {} : { status: answered }
      record({ problem: error instanceof Problem ? error.code : 'failed', ...status })
      throw error instanceof Problem || filled.carried !== null
        ? withoutSecrets(error, credentials.scrub)
        : error
    } finally {
      gone.removeEventListener('abort', release)
      deadline.clear()
      release()
    }
  }
}
