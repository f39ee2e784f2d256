import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard, RunTicket } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import { createOpenPlaces } from '@flotilla/foundation/intake'
import type { CheckEffect } from '@flotilla/identity/policy'
import { startDeadline } from './deadline.ts'
import { effectAt, policedFetch } from './request-effect.ts'
import { followRedirects } from './follow-redirects.ts'
import type { PinnedFetch, PinnedReply } from './pinned-fetch.ts'
import { agentShareLimits } from '@flotilla/foundation/intake'

/** Called for each chunk that is kept; throws if there is no room for it. */
type CountBytes = (bytes: number) => void

/**
 * Fetches an image or document that a prompt names by URL, before the prompt is sent. Permission, rate, filter and
 * audit log are those of `http_request`, and the owner's policy decides; no credential is filled in. Throws `denied`,
 * `policy-denied`, `rate-limited`, `bad-request`,
 * `address-refused`, `destination-refused`, `upstream-failed`, `upstream-timeout`.
 */
export type FetchMediaForAgent = (
  caller: Caller,
  request: { readonly url: string; readonly maxBytes: number; readonly hold?: CountBytes | undefined },
  signal: AbortSignal,
) => Promise<Uint8Array>

export const fetchMediaBounds = {
  /** Time limit from the DNS lookup to the last byte. */
  timeoutMs: 20_000,
  /** The delay suggested to a rejected caller. */
  retryAfterSeconds: 5,
} as const

export interface FetchMediaDeps {
  readonly guard: Guard
  readonly checkEffect: CheckEffect
  readonly rate: { take(agentId: string): void }
  readonly fetchFor: (agentId: string) => PinnedFetch
  readonly journal: Journal
  readonly clock: Clock
  readonly holdLease: (run: RunTicket | null) => () => void
}

export function createFetchMedia(deps: FetchMediaDeps): FetchMediaForAgent {
  const places = createOpenPlaces(agentShareLimits.mediaFetches)

  function enter(agentId: string): () => void {
    const leave = places.enter(agentId)
    if (typeof leave !== 'string') return leave
    const { perAgentMax } = agentShareLimits.mediaFetches
    throw new Problem('rate-limited', {
      detail:
        leave === 'agent'
          ? `${perAgentMax} pictures and documents are being downloaded for this agent, the maximum for one agent`
          : 'the fleet has the maximum number of downloads of pictures and documents in progress',
      retryAfterSeconds: fetchMediaBounds.retryAfterSeconds,
    })
  }

  return async (caller, { url, maxBytes, hold }, outer) => {
    deps.guard(caller, { do: 'call-api', api: 'http' })
    if (caller.kind !== 'agent') throw new Problem('denied')
    if (!URL.canParse(url))
      throw new Problem('bad-request', { detail: 'this text is not the address of a picture or document' })
    const target = new URL(url)
    const asked = { tool: 'fetch_media', credentials: [] } as const
    deps.checkEffect.requireAllowed(
      caller,
      { ...asked, ...effectAt(target, 'GET') },
      'no person can be asked about a picture of a model call; fetch it with http_request',
    )
    deps.rate.take(caller.agentId)
    const leave = enter(caller.agentId)
    const deadline = startDeadline(deps.clock, fetchMediaBounds.timeoutMs, outer)
    const release = deps.holdLease(caller.run)
    const record = (detail: Record<string, string | number>) =>
      deps.journal.append({
        actor: actorOf(caller),
        action: 'http.requested',
        subject: target.host,
        detail: { method: 'GET', for: 'model', ...detail },
      })
    try {
      const request = {
        ...asked,
        url: target,
        method: 'GET',
        headers: { accept: 'image/*, application/pdf' },
        body: '',
      }
      const { reply, url: answered } = await followRedirects(
        policedFetch(deps, caller, request),
        request,
        deadline.signal,
      )
      try {
        const bytes = await readWhole(reply, { maxBytes, hold }, deadline.signal)
        record({ status: reply.status, bytes: bytes.length, host: answered.host })
        return bytes
      } finally {
        await reply.close()
      }
    } catch (error) {
      record({ problem: error instanceof Problem ? error.code : 'failed' })
      throw error
    } finally {
      deadline.clear()
      release()
      leave()
    }
  }
}

async function readWhole(
  reply: PinnedReply,
  { maxBytes, hold }: { readonly maxBytes: number; readonly hold: CountBytes | undefined },
  signal: AbortSignal,
): Promise<Uint8Array> {
  if (reply.status !== 200) {
    throw new Problem('bad-request', { detail: `this address answers with status ${reply.status}` })
  }
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of reply.body) {
      signal.throwIfAborted()
      bytes += chunk.length
      if (bytes > maxBytes) {
        throw new Problem('bad-request', {
          detail: `the file at this address is larger than the ${maxBytes} bytes that this call may still download`,
        })
      }
      hold?.(chunk.length)
      chunks.push(chunk)
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof Problem) throw error
    throw new Problem('upstream-failed', {
      detail: 'the download from this address was interrupted',
      cause: error,
    })
  }
  return Buffer.concat(chunks)
}
