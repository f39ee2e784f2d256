import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { AgentContext } from './agent-context.ts'

/**
 * Hibernates an agent now: its sandbox is stopped, and the next work starts it again. Idempotent. Problems `denied`,
 * `unknown-agent`, `reserved-agent-id` for the operator, `conflict` if the agent works or does not run.
 */
export type HibernateAgent = (caller: Caller, agentId: string) => Promise<void>

export function hibernateAgent(deps: {
  readonly guard: Guard
  readonly context: AgentContext
  readonly hibernate: (agentId: string, reason: string) => Promise<boolean>
}): HibernateAgent {
  const { context } = deps
  return async (caller, agentId) => {
    deps.guard(caller, { do: 'manage-agent', agentId })
    if (context.agents.require(agentId).record.kind === 'operator') {
      throw new Problem('reserved-agent-id', {
        detail: 'the operator cannot hibernate',
        repair:
          'To hold the triggers of the operator: flotilla pause operator. To hibernate a worker: flotilla hibernate AGENT',
      })
    }
    if (await deps.hibernate(agentId, 'a person or the operator hibernated the agent')) return
    const { state } = context.agents.require(agentId)
    throw new Problem('conflict', {
      detail:
        state.kind === 'running'
          ? `agent ${agentId} is working on a run, so it cannot hibernate`
          : `agent ${agentId} is ${state.kind} and not running, so it cannot hibernate`,
    })
  }
}
