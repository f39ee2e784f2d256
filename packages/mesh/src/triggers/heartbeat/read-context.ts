import type { HeartbeatContext } from '@flotilla/protocol/agent-api'
import type { AgentConnection, AgentConnections } from '../../fleet/agent-connection.ts'
import type { Log } from '../../log.ts'
import type { KnownContext } from './heartbeat-table.ts'
import type { KnownContexts } from './known-contexts.ts'

/** For the whole of it; a container may have to be started. */
const readMaxMs = 120_000

/** What is known of an agent: read now, remembered of a time since which nobody touched it, or nothing. */
export type HeartbeatReading =
  | { readonly from: 'agent'; readonly context: HeartbeatContext; readonly facts: KnownContext }
  | { readonly from: 'memory'; readonly facts: KnownContext }
  | { readonly from: 'nowhere' }

/**
 * Reads what a heartbeat is decided by. An agent that runs is asked; one that does not is started for it only where
 * what is remembered would not do (`enough`). Never rejects: what cannot be read is nothing known.
 */
export function createReadContext(deps: {
  readonly connections: Pick<AgentConnections, 'connectIfRunning'> & {
    readonly reach: AgentConnections['ensureRunning']
  }
  /** What the mesh itself measures; null where a volume bounds the agent, which then sees it best. */
  readonly meteredPercent: (agentId: string) => Promise<number | null>
  readonly known: KnownContexts
  readonly log: Log
}): (agentId: string, enough: (facts: KnownContext) => boolean) => Promise<HeartbeatReading> {
  const { connections, known } = deps

  async function ask(agentId: string, line: AgentConnection, signal: AbortSignal): Promise<HeartbeatReading> {
    const context = await line.heartbeatContext(signal)
    const facts = {
      defaultRules: context.is_default_heartbeat,
      recentActivity: context.has_recent_activity,
      diskUsedPercent: (await deps.meteredPercent(agentId)) ?? context.disk_used_percent,
    }
    known.keep(agentId, facts)
    return { from: 'agent', context, facts }
  }

  return async (agentId, enough) => {
    const signal = AbortSignal.timeout(readMaxMs)
    try {
      const running = await connections.connectIfRunning(agentId)
      if (running) return await ask(agentId, running, signal)
      const facts = known.recall(agentId)
      if (facts && enough(facts)) return { from: 'memory', facts }
      return await ask(agentId, await connections.reach(agentId, signal), signal)
    } catch (error) {
      deps.log.warn({ agentId, err: error }, 'what a heartbeat needs to know was not available')
      return { from: 'nowhere' }
    }
  }
}
