import { Agent } from 'node:http'
import { connect } from 'node:tls'
import { isLive } from '@flotilla/protocol/agent-lifecycle'
import { agentLinkClient } from '@flotilla/protocol/agent-link'
import type { AgentLinkKey } from '@flotilla/protocol/agent-link'
import type { AgentTable } from '../registry/agent-table.ts'
import type { MeshIdentity } from './mesh-identity.ts'

/** Maximum connections to one agent: a stream, a status request, a health check and some spare ones. */
const socketsPerAgentMax = 16
/** Separates start id and agent id in an identity; neither id contains this character. */
const separator = '.'

/** Pooled connections to agents. For agents on other machines, keys authenticate both sides of a connection. */
export interface AgentLinks {
  /** Returns the HTTP client with pooled connections to the agent's last start. */
  httpOf(agentId: string): Agent
  /** Returns the key for a start; null for an agent on this machine, since its connections cross no network. */
  keyFor(agentId: string, startId: string): AgentLinkKey | null
  /** Returns the agent and key of an identity, if its start may still connect to the mesh; otherwise null. */
  find(identity: string): { readonly agentId: string; readonly key: Uint8Array } | null
  /** Closes the open connections to the agent. */
  forget(agentId: string): void
  close(): void
}

export function createAgentLinks(deps: {
  readonly crossesMachines: boolean
  readonly agents: Pick<AgentTable, 'find'>
  readonly identity: Pick<MeshIdentity, 'linkKeyOf'>
}): AgentLinks {
  const { agents, identity } = deps
  const shared = newAgent()
  /** For each agent on another machine, the HTTP client and the start whose key its connections use. */
  const own = new Map<string, { readonly startId: string; readonly http: Agent }>()

  const keyOf = (agentId: string, startId: string): AgentLinkKey => ({
    identity: `${startId}${separator}${agentId}`,
    key: identity.linkKeyOf(agentId, startId),
  })

  function forget(agentId: string): void {
    own.get(agentId)?.http.destroy()
    own.delete(agentId)
  }

  return {
    keyFor: (agentId, startId) => (deps.crossesMachines ? keyOf(agentId, startId) : null),

    httpOf(agentId) {
      if (!deps.crossesMachines) return shared
      const startId = agents.find(agentId)?.startId ?? ''
      const known = own.get(agentId)
      if (known?.startId === startId) return known.http
      forget(agentId)
      const http = keyedAgent(keyOf(agentId, startId))
      own.set(agentId, { startId, http })
      return http
    },

    find(pskIdentity) {
      const at = pskIdentity.indexOf(separator)
      const [startId, agentId] = [pskIdentity.slice(0, at), pskIdentity.slice(at + 1)]
      const row = at < 0 ? null : agents.find(agentId)
      if (row === null || row.startId !== startId) return null
      if (!isLive(row.state.kind) && row.state.kind !== 'starting') return null
      return { agentId, key: identity.linkKeyOf(agentId, startId) }
    },

    forget,

    close() {
      shared.destroy()
      for (const agentId of own.keys()) forget(agentId)
    },
  }
}

const newAgent = (): Agent => new Agent({ keepAlive: true, maxSockets: socketsPerAgentMax })

function keyedAgent(key: AgentLinkKey): Agent {
  const http = newAgent()
  const link = agentLinkClient(key)
  http.createConnection = ({ host, port }) => connect({ host: host ?? '', port: Number(port), ...link })
  return http
}
