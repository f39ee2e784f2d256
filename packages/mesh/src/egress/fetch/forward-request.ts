import type { Clock } from '@flotilla/protocol/clock'
import type { httpReplySchema, httpRequestSchema } from '@flotilla/protocol/mesh-agent-api'
import { Problem } from '@flotilla/protocol/problem'
import type * as z from 'zod/mini'
import type { Journal } from '../../journal/index.ts'
import type { Caller, Guard, RunTicket } from '../../access/index.ts'
import { actorOf } from '../../access/index.ts'
import type { OutsideLine } from '../../effects/index.ts'
import type { OpenCredentials } from '../../credentials/index.ts'
import type { LoopShare } from '../../intake/index.ts'
import { startDeadline } from './deadline.ts'
import { followRedirects } from './follow-redirects.ts'
import type { PinnedFetch } from './pinned-fetch.ts'
import { readBytes, textOf } from './read-text.ts'
import { checkedHeaders, shownHeaders } from './request-headers.ts'
import { withoutSecrets } from './without-secrets.ts'

export type HttpRequest = z.infer<typeof httpRequestSchema>
export type HttpReply = z.infer<typeof httpReplySchema>

/**
 * `http_request`: fetches a public address for an agent. What an agent may reach is decided here and not in its
 * container. Handles become credentials here and nowhere before. Throws `denied`, `rate-limited`, `bad-request`,
 * `credential-unknown`, `credential-refused`, `address-refused`, `upstream-failed`, `upstream-timeout`.
 */
export type ForwardRequest = (caller: Caller, request: HttpRequest, line: OpenLine) => Promise<HttpReply>

export interface OpenLine extends OutsideLine {
  /**
   * Whoever asked is gone. The request goes on to its end or its time limit, since the far end may have begun and the
   * run that asks again is given the answer; but that its agent works is said by it no longer.
   */
  readonly gone: AbortSignal
}

export interface ForwardRequestDeps {
  readonly guard: Guard
  readonly fetchFor: (agentId: string) => PinnedFetch
  readonly journal: Journal
  readonly clock: Clock
  /** Keeps the run's lease alive while the call is open; returns the way to stop. */
  readonly holdLease: (run: RunTicket | null) => () => void
  /** Fills handles, and takes values out of answers. */
  readonly credentials: OpenCredentials
  readonly loop: Pick<LoopShare, 'spend'>
}

export function createForwardRequest(deps: ForwardRequestDeps): ForwardRequest {
  return async (caller, request, { signal, gone, dispatching }) => {
    deps.guard(caller, { do: 'call-api', api: 'http' })
    if (caller.kind !== 'agent') throw new Problem('denied')
    const headers = checkedHeaders(request.headers)
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
        detail: { method: request.method, ...detail },
      })
    try {
      const asked = { ...filled, method: request.method, onLeaving: dispatching }
      const { reply, url: reached } = await followRedirects(
        deps.fetchFor(caller.agentId),
        asked,
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
