import type { PolicyReach } from '@flotilla/protocol/policy-api'
import { isRemote, shownAddress } from '@flotilla/protocol/mcp-servers'
import type { McpServers } from '@flotilla/protocol/mcp-servers'
import type { LoopShare, StepWork } from '@flotilla/foundation/intake'
import type { Settings } from '@flotilla/foundation/config'
import type { Action, Caller, Decision, Guard } from '@flotilla/identity/access'
import { createFurthestVerdict, plainHost } from '@flotilla/identity/policy'
import type { PolicyStore } from '@flotilla/identity/policy'
import { coverageOf, parseHostPattern } from '@flotilla/egress/credentials'
import type { HostPattern } from '@flotilla/egress/credentials'
import { listNamesHost } from '@flotilla/egress/egress'

/**
 * Lists every host that could ever get a credential from an agent: the hosts that the owner bound it to, as far as
 * the agent may reach them, by each way on which a credential is filled in. A rule counts only if it applies whatever
 * the agent sends, so the list may name too many hosts and never too few. Pauses
 * between two hosts, so that other requests are served. Problem `unknown-agent`.
 */
export type ReachOfCredential = (caller: Caller, agentId: string, credential: string) => Promise<PolicyReach>

/** The maximum number of listed ways; `truncated` says that there are more. */
const waysMax = 1000

type Way = PolicyReach['ways'][number]

export function createReachOfCredential(deps: {
  readonly guard: Guard
  readonly decide: (caller: Caller, action: Action) => Decision
  readonly policy: Pick<PolicyStore, 'snapshot'>
  readonly settings: () => Pick<Settings, 'egress'>
  readonly hostsOf: (credential: string) => readonly string[]
  readonly serversOf: (agentId: string) => McpServers
  readonly projectOf: (agentId: string) => string | null
  readonly rootOf: (agentId: string) => string
  readonly loop: Pick<LoopShare, 'inSteps'>
  readonly requireAgent: (agentId: string) => void
}): ReachOfCredential {
  function* list(agentId: string, credential: string): StepWork<PolicyReach> {
    const agent = { kind: 'agent', agentId, token: 'door', run: null } as const
    const use = deps.decide(agent, { do: 'use-credential', name: credential })
    if (!use.allowed)
      return { agent_id: agentId, credential, refused: use.reason, ways: [], truncated: false }
    const hosts = deps.hostsOf(credential)
    if (hosts.length === 0) {
      const refused = `no credential ${credential} is stored, or it may be sent to no host`
      return { agent_id: agentId, credential, refused, ways: [], truncated: false }
    }
    const furthest = createFurthestVerdict(deps.policy.snapshot().rules)
    const { allowed_hosts: lists, inspected_hosts: inspected } = deps.settings().egress
    const mayCall = deps.decide(agent, { do: 'call-api', api: 'http' }).allowed
    const mayBrowse = deps.decide(agent, { do: 'use-browser', browserAction: 'navigate' }).allowed
    const project = deps.projectOf(agentId)
    const servers = Object.entries(deps.serversOf(agentId)).flatMap(([name, server]) =>
      isRemote(server) && server.disabled !== true ? [{ name, url: new URL(shownAddress(server.url)) }] : [],
    )

    function way(pattern: HostPattern, by: Way['by'], mcpServer?: string): Way {
      const tool = { program: 'connect', http_request: 'http_request', browser: 'browser', mcp: 'mcp' }[by]
      const { verdict, rule } = furthest({
        agent: agentId,
        ...(project === null ? {} : { project }),
        tool,
        // A rule for names below a domain matches any of them.
        host: pattern.below ? `any-name.${pattern.host}` : plainHost(pattern.host),
        isDomain: pattern.below,
        credentials: [credential],
        ...(mcpServer === undefined ? {} : { mcpServer }),
      })
      return { host: coverageOf(pattern), by, verdict, rule }
    }

    const waysTo = (pattern: HostPattern): readonly Way[] => [
      ...(mayCall ? [way(pattern, 'http_request')] : []),
      ...(mayCall && pattern.scheme === 'https' && inspected.some((host) => overlaps(pattern, host))
        ? [way(pattern, 'program')]
        : []),
      ...(mayBrowse ? [way(pattern, 'browser')] : []),
      ...(mayCall
        ? servers
            .filter(({ url }) => covers(pattern, url.hostname))
            .map(({ name }) => way(pattern, 'mcp', name))
        : []),
    ]
    const ways: Way[] = []
    for (const text of hosts) {
      const bound = parseHostPattern(text)
      if (bound === null) continue
      for (const pattern of within(bound, lists[deps.rootOf(agentId)])) {
        yield
        ways.push(...waysTo(pattern))
        if (ways.length > waysMax) {
          return {
            agent_id: agentId,
            credential,
            refused: null,
            ways: ways.slice(0, waysMax),
            truncated: true,
          }
        }
      }
    }
    return { agent_id: agentId, credential, refused: null, ways, truncated: false }
  }

  return async (caller, agentId, credential) => {
    deps.guard(caller, { do: 'manage-credentials' })
    deps.requireAgent(agentId)
    return deps.loop.inSteps(null, list(agentId, credential), 'finish')
  }
}

/** The part of a pattern that a list of allowed hosts leaves. Pure. */
function within(pattern: HostPattern, allowed: readonly string[] | undefined): readonly HostPattern[] {
  if (allowed === undefined) return [pattern]
  if (!pattern.below) return listNamesHost(allowed, pattern.host) ? [pattern] : []
  if (listNamesHost(allowed, `any-name.${pattern.host}`)) return [pattern]
  return allowed
    .filter((entry) => covers(pattern, entry.replace(/^\*\./, '')))
    .map((entry) => ({ ...pattern, host: entry.replace(/^\*\./, ''), below: entry.startsWith('*.') }))
}

function covers({ host, below }: HostPattern, name: string): boolean {
  return below ? name.endsWith(`.${host}`) : name === host
}

/** True if a host of the pattern is named by an entry of the inspected hosts. Pure. */
function overlaps(pattern: HostPattern, entry: string): boolean {
  const sample = pattern.below ? `any-name.${pattern.host}` : pattern.host
  return listNamesHost([entry], sample) || covers(pattern, entry.replace(/^\*\./, ''))
}
