import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { hasRoom } from '@flotilla/foundation/intake'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { Database } from '@flotilla/foundation/storage'
import { canonicalName } from './handles.ts'
import { createRequestTable } from './request-table.ts'
import type { CredentialRequest, RequestState } from './request-table.ts'

/** A request that the owner does not answer expires after this time, in milliseconds. */
const unansweredMaxMs = 7 * 24 * 3600 * 1000

/** Limits of open requests. The owner must be able to see all requests of an agent. */
const openBounds = { perAgentMax: 10, max: 200, floor: 1 } as const
/** The maximum number of stored requests for credentials; the oldest ones are deleted. */
const keptMax = 2000
/** The maximum number of requests for credentials in one list, newest first. */
const listedMax = 500
const notifiedAtOnceMax = 50

export interface NewRequest {
  readonly name: string
  readonly service: string
  readonly description: string
}

/**
 * Requests of agents to the owner for credentials.
 *
 * 1. A request is stored, with the notification to the owner, before the agent gets its reply.
 * 2. An answer is stored before it has effects. The agent is notified once by a run of its own, later if its lane is
 * full.
 * 3. A request without an answer expires, and the agent is notified of that as well.
 */
export interface CredentialRequests {
  /** Returns the open request if one for the same name exists. Throws the Problems `denied` and `unprocessable`. */
  request(caller: Caller, input: NewRequest): CredentialRequest
  list(caller: Caller): readonly CredentialRequest[]
  /** Denies a request. Throws Problem `not-found`, or `conflict` if the request was answered before. */
  deny(caller: Caller, id: string, reason: string): CredentialRequest
  /** Called when a credential of that name was stored. Notifies the agents that requested it. */
  granted(name: string): void
  /** Expires old requests and delivers pending notifications; called on a timer. */
  sweep(): void
  /** Called when the agent is deleted: an agent re-created under its id gets no notifications of old requests. */
  forget(agentId: string): void
}

export interface CredentialRequestsDeps {
  readonly database: Database
  readonly guard: Guard
  readonly journal: Journal
  readonly clock: Clock
  readonly newId: NewId
  readonly log: Log
  /** Writes a note to the owner on behalf of the agent. Joins the caller's transaction. */
  readonly note: (caller: Caller, message: string) => void
  /**
   * Submits the answer as a run to the agent's lane, at most once for a request. Throws if this is impossible now.
   */
  readonly deliver: (request: CredentialRequest) => void
}

export function createCredentialRequests(deps: CredentialRequestsDeps): CredentialRequests {
  const { database, guard, journal, clock } = deps
  const table = createRequestTable(database)

  function answer(
    request: CredentialRequest,
    state: RequestState,
    by: { actor: string; reason: string },
  ): void {
    database.transaction(() => {
      table.answer(request.id, { state, reason: by.reason, at: clock.now() })
      journal.append({
        actor: by.actor,
        action: `credential.request-${state}`,
        subject: request.name,
        detail: { request: request.id, agent: request.agentId },
      })
    })
  }

  function notifyPending(): void {
    let notified = 0
    // Agents that cannot be notified now: all their answers are skipped, without blocking answers to other agents.
    const unready = new Set<string>()
    for (const request of table.undelivered()) {
      if (notified === notifiedAtOnceMax) return
      if (unready.has(request.agentId)) continue
      try {
        database.transaction(() => {
          deps.deliver(request)
          table.markDelivered(request.id, clock.now())
        })
        notified++
      } catch (error) {
        if (error instanceof Problem && error.code === 'unknown-agent') {
          table.markDelivered(request.id, clock.now())
          continue
        }
        unready.add(request.agentId)
        deps.log.warn(
          { agentId: request.agentId, err: error },
          'failed to notify an agent of its credential request; retrying in a minute',
        )
      }
    }
  }

  return {
    request(caller, input) {
      guard(caller, { do: 'request-credential' })
      if (caller.kind !== 'agent') throw new Problem('denied')
      const { agentId } = caller
      const name = canonicalName(input.name)
      const open = table.openOf(agentId)
      const known = open.find((request) => request.name === name)
      if (known) return known
      if (!hasRoom({ own: open.length, total: table.open().length }, openBounds)) {
        throw new Problem('unprocessable', {
          detail: `${open.length} of your requests for credentials wait for the owner; send another request when the owner has answered them`,
        })
      }
      const [service, description] = [oneLine(input.service), oneLine(input.description)]
      const id = deps.newId('cred')
      return database.transaction(() => {
        table.insert({
          id,
          agentId,
          name,
          service,
          description,
          runId: caller.run?.runId ?? null,
          createdAt: clock.now(),
        })
        table.trim(keptMax)
        deps.note(
          caller,
          `${agentId} asks for the credential ${name} of ${service}: ${description}\nStore it: flotilla credentials set ${name} --host HOST\nRefuse it: flotilla credentials deny ${id}`,
        )
        journal.append({
          actor: actorOf(caller),
          action: 'credential.requested',
          subject: name,
          detail: { request: id, run: caller.run?.runId ?? '' },
        })
        const request = table.byId(id)
        if (!request) throw new Error('a request that was just written is there')
        return request
      })
    },
    list(caller) {
      guard(caller, { do: 'manage-credentials' })
      return table.newest(listedMax)
    },
    deny(caller, id, reason) {
      guard(caller, { do: 'manage-credentials' })
      const request = table.byId(id)
      if (!request)
        throw new Problem('not-found', {
          detail: `no request for a credential has the id ${id.slice(0, 100)}`,
        })
      if (request.state !== 'open')
        throw new Problem('conflict', {
          detail: `the request for this credential is already ${request.state}`,
        })
      answer(request, 'denied', { actor: actorOf(caller), reason: oneLine(reason) })
      notifyPending()
      return table.byId(id) ?? request
    },
    granted(name) {
      for (const request of table.openFor(canonicalName(name)))
        answer(request, 'granted', { actor: 'system', reason: '' })
      notifyPending()
    },
    sweep() {
      const before = clock.now() - unansweredMaxMs
      for (const request of table.open().filter(({ createdAt }) => createdAt <= before))
        answer(request, 'expired', { actor: 'system', reason: 'no answer' })
      notifyPending()
    },
    forget: table.forget,
  }
}

function oneLine(text: string): string {
  return sanitizeForPrompt(text).replace(/\s+/g, ' ').trim()
}
