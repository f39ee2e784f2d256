import { Problem } from '@flotilla/protocol/problem'
import { operatorStaysWords } from './operator-stays.ts'
import type { Guard } from '../policy/action.ts'
import { requireAtTerminal } from '../policy/at-terminal.ts'
import { actorOf } from '../policy/caller.ts'
import type { Caller } from '../policy/caller.ts'
import type { AgentLife } from './agent-life.ts'
import type { AgentRow } from './agent-table.ts'
import type { PermissionGrants } from './create-agent.ts'
import type { AgentStarts } from './start-agent.ts'
import { stopInTurn } from './stop-agent.ts'

/** `createdAt` binds the deletion to that very agent: one that was made anew under its id is another. */
export type DeleteAgent = (
  caller: Caller,
  agentId: string,
  only?: { readonly createdAt: number },
) => Promise<void>

/**
 * Deletes a worker for good: its sandbox, its data, tokens, permissions and briefing, and what other rooms keep for
 * it (`forget`). Costs and journal stay. For people at a terminal alone. The row goes last, so that a deletion that
 * broke off can be asked for again. Problems `denied`, `human-only`, `unknown-agent`, `reserved-agent-id`, `conflict`,
 * `unprocessable` where a store cannot be freed of it.
 */
export function deleteAgent(deps: {
  readonly guard: Guard
  readonly grants: PermissionGrants
  readonly life: AgentLife
  readonly starts: AgentStarts
  /** Throws the Problem of a store that could not be freed of an agent now. */
  readonly requireForgettable: () => Promise<void>
  /** Stores of other rooms, by agent. Each is idempotent. */
  readonly forget: readonly ((agentId: string) => void | Promise<void>)[]
}): DeleteAgent {
  const { life } = deps
  return async (caller, agentId, only) => {
    deps.guard(caller, { do: 'manage-agent', agentId })
    requireAtTerminal(caller, 'delete an agent')
    if (life.agents.require(agentId).record.kind === 'operator') {
      throw new Problem('reserved-agent-id', {
        detail: 'the operator cannot be deleted',
        repair: operatorStaysWords,
      })
    }
    requireSame(life.agents.require(agentId), only)
    deps.starts.breakOff(agentId, 'the agent is being deleted')
    await life.turns.take(agentId, async () => {
      requireSame(life.agents.require(agentId), only)
      // Before anything is gone: an agent that is half deleted is of no use to anybody.
      await deps.requireForgettable()
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

function requireSame({ record }: AgentRow, only: { readonly createdAt: number } | undefined): void {
  if (only === undefined || record.createdAt === only.createdAt) return
  throw new Problem('conflict', {
    detail: `agent ${record.id} is not the one that was meant: it was made anew`,
  })
}
