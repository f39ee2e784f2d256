import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '../../access/index.ts'
import type { AgentContext } from './agent-context.ts'

/**
 * Hibernates an agent now: its sandbox is stopped, and the next work starts it again. Idempotent. Problems `denied`,
 * `unknown-agent`, `reserved-agent-id` for the operator, `conflict` if it works or does not run.
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
        detail: 'the operator does not hibernate',
        repair:
          'The operator is always available: flotilla pause operator stops its work, and flotilla hibernate takes a worker.',
      })
    }
    if (await deps.hibernate(agentId, 'a caller hibernated it')) return
    const { state } = context.agents.require(agentId)
    throw new Problem('conflict', {
      detail:
        state.kind === 'running'
          ? `agent ${agentId} is at work`
          : `agent ${agentId} does not run: it is ${state.kind}`,
    })
  }
}
