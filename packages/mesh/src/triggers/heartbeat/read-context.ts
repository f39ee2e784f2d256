import type { HeartbeatContext } from '@flotilla/protocol/agent-api'
import type { AgentConnections, AgentSelf, Reach } from '../../agents/index.ts'
import type { Log } from '../../platform/index.ts'
import type { KnownContext } from './heartbeat-table.ts'
import type { KnownContexts } from './known-contexts.ts'

/** For the whole of it; a container may have to be started. */
const readMaxMs = 120_000

/**
 * What is known of an agent: read of one that runs anyway, remembered of a time since which nobody touched it, read of
 * one that was started to do something, or nothing.
 */
type HeartbeatReading =
  | { readonly from: 'agent' | 'started'; readonly context: HeartbeatContext; readonly facts: KnownContext }
  | { readonly from: 'memory'; readonly facts: KnownContext }
  | { readonly from: 'nowhere' }

/** Of an agent that was never started. */
const untouched: KnownContext = { defaultRules: true, recentActivity: false, diskUsedPercent: null }

/**
 * Reads what a heartbeat is decided by. An agent that runs is asked. One that does not is decided on by what the mesh
 * knows; only where that does not say that there is nothing to do is it started, and then the heartbeat runs, whatever
 * the agent says now. Never rejects: what cannot be read is nothing known.
 */
export function createReadContext(deps: {
  readonly connections: Pick<AgentConnections, 'connectIfRunning'> & {
    readonly reach: AgentConnections['ensureRunning']
    readonly standing: Reach['standing']
  }
  /** What the mesh itself measures; null where a volume bounds the agent, which then sees it best. */
  readonly meteredPercent: (agentId: string) => Promise<number | null>
  readonly known: KnownContexts
  readonly log: Log
}): (agentId: string, nothingToDo: (facts: KnownContext) => boolean) => Promise<HeartbeatReading> {
  const { connections, known } = deps

  async function ask(agentId: string, line: Pick<AgentSelf, 'heartbeatContext'>, signal: AbortSignal) {
    const context = await line.heartbeatContext(signal)
    const facts = {
      defaultRules: context.is_default_heartbeat,
      recentActivity: context.has_recent_activity,
      diskUsedPercent: (await deps.meteredPercent(agentId)) ?? context.disk_used_percent,
    }
    known.keep(agentId, facts)
    return { context, facts }
  }

  return async (agentId, nothingToDo) => {
    const signal = AbortSignal.timeout(readMaxMs)
    try {
      const running = await connections.connectIfRunning(agentId)
      if (running) return { from: 'agent', ...(await ask(agentId, running, signal)) }
      const standing = connections.standing(agentId)
      const facts = standing === 'new' ? untouched : known.recall(agentId)
      if (standing !== 'starting' && facts && nothingToDo(facts)) return { from: 'memory', facts }
      const started = await ask(agentId, await connections.reach(agentId, signal), signal)
      // Somebody else has it started; then it runs for that and is asked like any other.
      return { from: standing === 'starting' ? 'agent' : 'started', ...started }
    } catch (error) {
      deps.log.warn(
        { agentId, err: error },
        'context of an agent could not be read; its heartbeat runs without it',
      )
      return { from: 'nowhere' }
    }
  }
}
