import type { HeartbeatContext } from '@flotilla/protocol/agent-api'
import type { AgentConnections, AgentSelf, Reach } from '@flotilla/fleet/agents'
import type { Log } from '@flotilla/foundation/platform'
import type { KnownContext } from './heartbeat-table.ts'
import type { KnownContexts } from './known-contexts.ts'

/** The time limit for reading all facts, including a container start, in milliseconds. */
const readMaxMs = 120_000

/** Facts about an agent: reported by the agent, stored if the agent was not used since, or unknown. */
type HeartbeatReading =
  | { readonly from: 'agent'; readonly context: HeartbeatContext; readonly facts: KnownContext }
  | { readonly from: 'memory'; readonly facts: KnownContext }
  | { readonly from: 'nowhere' }

/** The facts of an agent that was never started. */
const untouched: KnownContext = { defaultRules: true, recentActivity: false, diskUsedPercent: null }

/**
 * Reads the facts that decide a heartbeat. Asks a running agent. For a stopped agent, uses stored facts if they show
 * that there is nothing to do; otherwise starts and asks the agent. Never rejects: unreadable facts are unknown.
 */
export function createReadContext(deps: {
  readonly connections: Pick<AgentConnections, 'connectIfRunning'> & {
    readonly reach: AgentConnections['ensureRunning']
    readonly stateOf: Reach['stateOf']
  }
  /** Returns the mesh's own measurement; null if a volume limits the agent, which then measures its use itself. */
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
      const agentState = connections.stateOf(agentId)
      const facts = agentState === 'new' ? untouched : known.recall(agentId)
      if (agentState !== 'starting' && facts && nothingToDo(facts)) return { from: 'memory', facts }
      return { from: 'agent', ...(await ask(agentId, await connections.reach(agentId, signal), signal)) }
    } catch (error) {
      deps.log.warn(
        { agentId, err: error },
        'failed to read the context of an agent; its heartbeat runs without it',
      )
      return { from: 'nowhere' }
    }
  }
}
