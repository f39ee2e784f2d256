import type { LoopShare } from '@flotilla/foundation/intake'
import type { Journal } from '@flotilla/foundation/journal'
import type { CallRate, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import { Problem } from '@flotilla/protocol/problem'
import { webSocketMethod } from '@flotilla/identity/policy'
import type { PolicyChecks } from '@flotilla/identity/policy'
import type { OpenCredentials } from '../credentials/index.ts'
import { textOf } from '../egress/index.ts'
import { inspectedEffect } from './inspected-effect.ts'
import { cleanAnswer, unchanged } from './clean-answer.ts'
import type { AskedTurn, TakeTurn } from './terminate/request-turn.ts'

/** Methods that change nothing; their requests are counted and not recorded one by one, except for WebSockets. */
const reading: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/** The status of a request that opened a WebSocket, whose frames can change anything. */
const switchingProtocols = 101

/** The maximum length of a path in the audit log, in characters. */
const pathMaxChars = 300

export interface TakeTurnDeps {
  readonly guard: Guard
  readonly journal: Journal
  /** Replaces placeholders by values, and removes values from answers. */
  readonly credentials: OpenCredentials
  readonly loop: Pick<LoopShare, 'spend' | 'require' | 'turn'>
  /** Counts each request like a call of `http_request`. */
  readonly rate: Pick<CallRate, 'take'>
  /** The owner's policy, which sees method, path and credentials of an inspected request. */
  readonly checkEffect: PolicyChecks
}

/**
 * Decides each request to an inspected host by the permission record of the agent and the owner's policy, also when
 * one of them changed after the connection was opened. Placeholders in its headers become values if the owner bound them to this host. Requests
 * that change something are recorded in the audit log.
 */
export function createTakeTurn(deps: TakeTurnDeps): TakeTurn {
  return async ({ identity, destination }, { method, path }) => {
    const { caller } = identity
    const { agentId } = caller
    deps.guard(caller, { do: 'call-api', api: 'http' })
    deps.rate.take(agentId)
    deps.loop.require(agentId)
    await deps.loop.turn(agentId)
    const url = new URL(`https://${textOf(destination)}/`)
    const credentials = deps.credentials(caller)
    const scrub = credentials.scrubOf(url)
    const effectOf = (of: string, headers: readonly string[], names: readonly string[]) =>
      inspectedEffect({ host: destination.host, method: of, path, headers }, names)
    /** Frames of a WebSocket are neither decided nor scrubbed, so that a rule must allow the WebSocket itself. */
    const requireWebSocket = (headers: readonly string[], names: readonly string[]) => {
      const { host } = destination
      const effect = effectOf(webSocketMethod, headers, names)
      if (deps.checkEffect.requireAllowed(caller, effect, cannotWait).rule !== null) return
      throw new Problem('policy-denied', {
        detail: `no rule allows a WebSocket to ${host}`,
        repair: `The owner can add a rule to config/policy.yaml: match: { method: ${webSocketMethod}, host: ${host} }, verdict: allow.`,
      })
    }
    /** Fills the headers in unless a person must approve the request first. */
    const fill = (
      headers: readonly string[],
      as: 'request' | 'web-socket' | { readonly approvedWith: readonly string[] },
    ) => {
      const asked: AskedTurn[] = []
      const isApproved = typeof as === 'object'
      const filled = credentials.fillHeaders(
        url,
        scrub === null ? headers : uncompressed(headers),
        (names) => {
          if (as === 'web-socket') requireWebSocket(headers, names)
          if (isApproved && !isSame(as.approvedWith, names)) throw credentialsChanged()
          const check = isApproved ? deps.checkEffect.ofApproved : deps.checkEffect
          const decision = check(caller, effectOf(method, headers, names))
          if (decision.verdict !== 'ask' || isApproved) return true
          asked.push({ decision, credentials: names })
          return false
        },
      )
      return { filled, asked: asked[0] }
    }
    return {
      fill: (headers) =>
        deps.loop.spend(agentId, () => {
          const { filled, asked } = fill(headers, 'request')
          return asked === undefined ? { headers: filled } : { asked }
        }),
      fillWebSocket: (headers) =>
        deps.loop.spend(agentId, () => {
          const { filled, asked } = fill(headers, 'web-socket')
          if (asked === undefined) return filled
          throw new Problem('policy-denied', { detail: `${asked.decision.reason}; ${cannotWait}` })
        }),
      fillApproved: (headers, approvedWith) =>
        deps.loop.spend(agentId, () => fill(headers, { approvedWith }).filled),
      answer: scrub === null ? unchanged : cleanAnswer(scrub, (work) => deps.loop.spend(agentId, work)),
      settled: (result) => {
        if (reading.includes(method) && 'status' in result && result.status !== switchingProtocols) return
        deps.journal.append({
          actor: actorOf(caller),
          action: 'http.requested',
          subject: destination.host,
          // The query may contain a secret of the program.
          detail: {
            by: 'program',
            method,
            path: path.replace(/\?.*$/s, '').slice(0, pathMaxChars),
            ...result,
          },
        })
      },
    }
  }
}

/** What a program may do where a person would have to be asked. */
const cannotWait = 'a WebSocket cannot wait for a person'

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return new Set([...one, ...other]).size === new Set(one).size && one.every((name) => other.includes(name))
}

function credentialsChanged(): Problem {
  return new Problem('approval-changed', {
    detail: 'other credentials would be filled in than those that were approved, so nothing was sent',
  })
}

/** Asks for an answer without compression, because values must be found in it. */
function uncompressed(headers: readonly string[]): readonly string[] {
  const kept: string[] = []
  for (let at = 0; at + 1 < headers.length; at += 2) {
    if (headers[at]?.toLowerCase() !== 'accept-encoding') kept.push(headers[at] ?? '', headers[at + 1] ?? '')
  }
  return [...kept, 'Accept-Encoding', 'identity']
}
