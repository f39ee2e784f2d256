import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { Resumable } from '@flotilla/foundation/storage'
import type { AgentContext } from './agent-context.ts'
import type { Isolation } from './ensure-running.ts'
import { startMarkSchema } from '../registry/agent-table.ts'
import type { AgentStarts } from './start-agent.ts'

/** `step` makes a repeated call safe: the repeat does not replace a sandbox that was started after the first call. */
export type RestartAgent = (
  caller: Caller,
  agentId: string,
  step?: Pick<Resumable<unknown>, 'begun' | 'begin'>,
) => Promise<void>

/**
 * Re-creates an agent's sandbox and waits until it answers; its data is kept, its current work is
 * interrupted.
 */
export function restartAgent(deps: {
  readonly guard: Guard
  readonly context: AgentContext
  readonly starts: AgentStarts
  readonly isolation: Isolation
}): RestartAgent {
  return async (caller, agentId, step) => {
    deps.guard(caller, { do: 'manage-agent', agentId })
    const { startId } = deps.context.agents.require(agentId)
    if (!deps.isolation.hold()) {
      throw new Problem('fleet-paused', { detail: 'an isolation check failed, so no agent is started' })
    }
    const begun = startMarkSchema.safeParse(step?.begun)
    const isDone = begun.success && begun.data.start !== startId
    if (!begun.success) step?.begin({ start: startId })
    // A requested restart clears earlier losses: the caller knows their cause or wants to see it again.
    deps.context.agents.setLosses(agentId, { restarts: [], quarantinedAt: null })
    await deps.starts.start(agentId, { fresh: !isDone })
  }
}
