import { Problem } from '@flotilla/protocol/problem'
import type { Guard } from '../policy/action.ts'
import { actorOf } from '../policy/caller.ts'
import type { Caller } from '../policy/caller.ts'
import type { AgentLife } from './agent-life.ts'
import type { PermissionGrants } from './create-agent.ts'
import type { AgentStarts } from './start-agent.ts'
import { stopInTurn } from './stop-agent.ts'

export type DeleteAgent = (caller: Caller, agentId: string) => Promise<void>

/**
 * Deletes a worker for good: its sandbox, its data, tokens, permissions and briefing, and what other rooms keep for
 * it (`forget`). Costs and journal stay. For people alone. The row goes last, so that a deletion that broke off can
 * be asked for again. Problems `denied`, `unknown-agent`, `reserved-agent-id`.
 */
export function deleteAgent(deps: {
  readonly guard: Guard
  readonly grants: PermissionGrants
  readonly life: AgentLife
  readonly starts: AgentStarts
  /** Stores of other rooms, by agent. Each is idempotent. */
  readonly forget: readonly ((agentId: string) => void | Promise<void>)[]
}): DeleteAgent {
  const { life } = deps
  return async (caller, agentId) => {
    deps.guard(caller, { do: 'manage-fleet' })
    if (caller.kind !== 'human') {
      throw new Problem('denied', { detail: 'only a person can delete an agent' })
    }
    if (life.agents.require(agentId).record.kind === 'operator') {
      throw new Problem('reserved-agent-id', { detail: 'the operator cannot be deleted' })
    }
    deps.starts.breakOff(agentId, 'the agent is being deleted')
    await life.turns.take(agentId, async () => {
      await stopInTurn(life, agentId, { reason: 'deleted', gone: 'deleted' })
      await life.runtime.remove(agentId, { data: true })
      await life.briefings.remove(agentId)
      for (const forget of deps.forget) await forget(agentId)
      await deps.grants.revokeAll(agentId)
      life.database.transaction(() => {
        life.agents.remove(agentId)
        life.journal.append({ actor: actorOf(caller), action: 'agent.deleted', subject: agentId, detail: {} })
      })
    })
    await life.briefings.refresh()
  }
}
