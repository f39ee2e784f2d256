import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PermissionGrants } from '@flotilla/identity/access'
import type { Resumable } from '@flotilla/foundation/storage'
import type { AgentContext } from '../lifecycle/agent-context.ts'
import type { AgentStarts } from '../lifecycle/start-agent.ts'
import type { AgentRecord } from '../registry/agent-record.ts'
import { addAgent } from './create-agent.ts'
import { deleteInTurn } from './delete-agent.ts'

/**
 * Agents that are created for one task and deleted with it. The caller decides whether and how long they may
 * exist.
 */
export interface ShortLived {
  /** Writes permissions, then agent row and `step` rows in one transaction. Problems `conflict`, `unprocessable`. */
  make(
    made: Pick<AgentRecord, 'id' | 'role' | 'model' | 'instructions' | 'budget' | 'project'> & {
      readonly permissions: PermissionRecord
      readonly actor: string
    },
    step: Resumable<AgentRecord>,
  ): Promise<void>
  /**
   * Deletes everything of the agent: sandbox, network address, data, tokens, permissions, rows. Idempotent, so that
   * an interrupted deletion can be repeated.
   */
  remove(agentId: string): Promise<void>
}

export function createShortLived(deps: {
  readonly grants: PermissionGrants
  readonly context: AgentContext
  readonly starts: AgentStarts
}): ShortLived {
  const { context, grants, starts } = deps
  return {
    make: ({ permissions, actor, ...made }, step) =>
      addAgent(deps, {
        record: {
          ...made,
          kind: 'worker',
          role: sanitizeForPrompt(made.role),
          instructions: sanitizeForPrompt(made.instructions),
          createdAt: context.clock.now(),
        },
        overrides: permissions,
        actor,
        step,
      }),
    remove: async (agentId) => {
      starts.breakOff(agentId, 'the lifetime of the spawned agent is over')
      await context.mutex.take(agentId, async () => {
        // A creation that failed before it wrote the agent's row may have written a permission record.
        if (context.agents.find(agentId) === null) return grants.revokeAll(agentId)
        await context.fleetEvents.agentLeaving.publish(agentId)
        await deleteInTurn(deps, agentId, 'system')
      })
    },
  }
}
