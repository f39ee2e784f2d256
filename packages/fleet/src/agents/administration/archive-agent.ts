import { Problem } from '@flotilla/protocol/problem'
import { operatorStaysWords } from '../registry/operator-stays.ts'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { AgentContext } from '../lifecycle/agent-context.ts'
import { isArchived, refuseDeleted } from '../registry/agent-table.ts'
import type { AgentStarts } from '../lifecycle/start-agent.ts'
import { stopInTurn } from '../lifecycle/stop-agent.ts'

export interface Archive {
  /**
   * Archives a worker: stops its sandbox and invalidates its tokens; the worker gets no work and no start until it is
   * restored. Its data, permissions, costs and history are kept. Idempotent. Problems `denied`, `unknown-agent`,
   * `reserved-agent-id`.
   */
  archive(caller: Caller, agentId: string): Promise<void>
  /** Restores an archived worker; its next work starts the worker. Idempotent. */
  unarchive(caller: Caller, agentId: string): Promise<void>
}

export function createArchive(deps: {
  readonly guard: Guard
  readonly context: AgentContext
  readonly starts: AgentStarts
}): Archive {
  const { context } = deps

  function note(caller: Caller, agentId: string, action: 'agent.archived' | 'agent.unarchived'): void {
    context.journal.append({ actor: actorOf(caller), action, subject: agentId, detail: {} })
  }

  return {
    archive: async (caller, agentId) => {
      deps.guard(caller, { do: 'manage-agent', agentId })
      if (context.agents.require(agentId).record.kind === 'operator') {
        throw new Problem('reserved-agent-id', {
          detail: 'the operator cannot be archived',
          repair: operatorStaysWords,
        })
      }
      deps.starts.breakOff(agentId, 'the agent is being archived, which ends its runs')
      await context.mutex.take(agentId, async () => {
        refuseDeleted(context.agents.require(agentId))
        if (!isArchived(context.agents.require(agentId))) {
          context.database.transaction(() => {
            note(caller, agentId, 'agent.archived')
            context.fleetEvents.agentArchived.publish(agentId)
          })
        }
        await stopInTurn(context, agentId, { to: 'archived', reason: 'archived' })
      })
    },
    unarchive: async (caller, agentId) => {
      deps.guard(caller, { do: 'manage-agent', agentId })
      refuseDeleted(context.agents.require(agentId))
      await context.mutex.take(agentId, async () => {
        const row = context.agents.require(agentId)
        refuseDeleted(row)
        if (!isArchived(row)) return
        // Retries a stop that the engine refused, so that an archived agent does not keep running.
        if (row.state.kind === 'stopping')
          await stopInTurn(context, agentId, { to: 'archived', reason: 'archived' })
        context.database.transaction(() => {
          context.agents.move(agentId, { kind: 'restore', at: context.clock.now() })
          note(caller, agentId, 'agent.unarchived')
        })
      })
    },
  }
}
