import type { PolicyExplanation, PolicyView } from '@flotilla/protocol/control-api'
import type { OriginKind } from '@flotilla/protocol/origin'
import { Problem } from '@flotilla/protocol/problem'
import type { Action, Caller, Decision, Guard } from '@flotilla/identity/access'
import { decidedRequest, plainHost } from '@flotilla/identity/policy'
import type { CheckEffect, PolicyStore, PolicyUse } from '@flotilla/identity/policy'
import type { AgentRegistry } from '@flotilla/fleet/agents'

const file = 'config/policy.yaml'

export interface AskedRequest {
  readonly agentId: string
  readonly method: string
  readonly url: string
  /** The kind of origin of the work that sends it. */
  readonly origin: OriginKind
  /** The channel on which the work was asked for; undefined if it is not known. */
  readonly channel?: string | undefined
}

/** The owner's rules about effects, and the decision about one request, for people who may view the fleet. */
export function createShowPolicy(deps: {
  readonly guard: Guard
  readonly decide: (caller: Caller, action: Action) => Decision
  readonly policy: Pick<PolicyStore, 'snapshot'>
  readonly policyUse: Pick<PolicyUse, 'hits'>
  readonly checkEffect: Pick<CheckEffect, 'explain'>
  readonly agents: Pick<AgentRegistry, 'require' | 'list'>
}) {
  const { guard, agents } = deps
  return {
    view: (caller: Caller): PolicyView => {
      guard(caller, { do: 'manage-credentials' })
      const { rules, cases, broken } = deps.policy.snapshot()
      const hits = deps.policyUse.hits()
      return {
        file,
        broken,
        cases: cases.length,
        rules: rules.map(({ name, line, verdict, match, when, reason, excepts }) => ({
          name,
          line,
          verdict,
          match: Object.fromEntries(
            Object.entries(match).flatMap(([field, value]) =>
              value === undefined ? [] : [[field, typeof value === 'number' ? value : [...value]] as const],
            ),
          ),
          when,
          reason,
          excepts: [...excepts],
          hits: hits.get(name)?.hits ?? 0,
          last_hit_at: hits.get(name)?.lastAt ?? null,
        })),
      }
    },
    /** Decides about one request, as `http_request` and inspected connections would. Problem `unknown-agent`. */
    explain: (caller: Caller, { agentId, method, url, origin, channel }: AskedRequest): PolicyExplanation => {
      guard(caller, { do: 'view-fleet' })
      agents.require(agentId)
      if (!URL.canParse(url)) throw new Problem('bad-request', { detail: 'url: an address is expected' })
      const { hostname, pathname, protocol, search } = new URL(url)
      if (protocol !== 'http:' && protocol !== 'https:')
        throw new Problem('bad-request', { detail: 'url: an http or https address is expected' })
      const asked = { agent_id: agentId, method: method.toUpperCase(), url, file }
      const record = deps.decide(
        { kind: 'agent', agentId, token: 'door', run: null },
        { do: 'call-api', api: 'http' },
      )
      if (!record.allowed) {
        const reason = `${record.reason}; no rule gives what the permission record withholds`
        return { ...asked, verdict: 'deny', rule: null, line: null, reason }
      }
      const request = decidedRequest({ method, path: pathname, query: search }, [])
      const sent = { ...request, host: plainHost(hostname), credentials: [] }
      const decision = deps.checkEffect.explain(
        agentId,
        { tool: 'http_request', ...sent },
        {
          origins: [origin],
          channels: channel === undefined ? null : [channel],
        },
      )
      return { ...asked, ...decision }
    },
  }
}

export type ShowPolicy = ReturnType<typeof createShowPolicy>
