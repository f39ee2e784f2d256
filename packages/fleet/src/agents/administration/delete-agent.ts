import { Problem } from '@flotilla/protocol/problem'
import { operatorStaysWords } from '../registry/operator-stays.ts'
import type { Caller, Guard, PermissionGrants } from '@flotilla/identity/access'
import { actorOf, requireAtTerminal } from '@flotilla/identity/access'
import type { AgentContext } from '../lifecycle/agent-context.ts'
import type { AgentRow } from '../registry/agent-table.ts'
import type { AgentStarts } from '../lifecycle/start-agent.ts'
import { stopInTurn } from '../lifecycle/stop-agent.ts'

/** With `createdAt`, deletes the agent only if it was created then, and not a later agent with the same id. */
export type DeleteAgent = (
  caller: Caller,
  agentId: string,
  only?: { readonly createdAt: number },
) => Promise<void>

/**
 * Deletes a worker permanently: its sandbox, data, tokens, permissions and bootstrap files, and the data of
 * other contexts (the events). Costs and audit log are kept. Only for people at a terminal. Rows are deleted
 * last and together, so that an interrupted deletion can be requested again. Problems `denied`,
 * `human-only`, `unknown-agent`, `reserved-agent-id`, `conflict`, `unprocessable` if a store cannot be
 * cleaned.
 */
export function deleteAgent(deps: {
  readonly guard: Guard
  readonly grants: PermissionGrants
  readonly context: AgentContext
  readonly starts: AgentStarts
}): DeleteAgent {
  const { context } = deps
  return async (caller, agentId, only) => {
    deps.guard(caller, { do: 'manage-agent', agentId })
    requireAtTerminal(caller, 'delete an agent')
    if (context.agents.require(agentId).record.kind === 'operator') {
      throw new Problem('reserved-agent-id', {
        detail: 'the operator cannot be deleted',
        repair: operatorStaysWords,
      })
    }
    requireSame(context.agents.require(agentId), only)
    deps.starts.breakOff(agentId, 'the agent is being deleted, which ends its runs')
    await context.mutex.take(agentId, async () => {
      requireSame(context.agents.require(agentId), only)
      // All stores are checked before anything is deleted, because a half deleted agent is useless.
      await context.fleetEvents.agentLeaving.publish(agentId)
      await deleteInTurn(deps, agentId, actorOf(caller))
    })
    await context.briefings.refresh()
  }
}

/**
 * Deletes an agent whose mutex the caller holds. The deletion is stored before anything is removed; if the deletion
 * is interrupted, the health sweep continues it.
 */
export async function deleteInTurn(
  { context, grants }: { readonly context: AgentContext; readonly grants: PermissionGrants },
  agentId: string,
  actor: string,
): Promise<void> {
  await stopInTurn(context, agentId, { to: 'deleted', reason: 'deleted' })
  await context.runtime.remove(agentId, { data: true })
  await context.briefings.remove(agentId)
  await context.fleetEvents.agentFilesDropped.publish(agentId)
  await grants.revokeAll(agentId, actor)
  context.database.transaction(() => {
    context.fleetEvents.agentDeleted.publish(agentId)
    context.agents.remove(agentId)
    context.journal.append({ actor, action: 'agent.deleted', subject: agentId, detail: {} })
  })
}

function requireSame({ record }: AgentRow, only: { readonly createdAt: number } | undefined): void {
  if (only === undefined || record.createdAt === only.createdAt) return
  throw new Problem('conflict', {
    detail: `agent ${record.id} was deleted and created again since you selected it; check the new agent, then repeat the deletion`,
  })
}
