import { Problem } from '@flotilla/protocol/problem'
import { operatorStaysWords } from './operator-stays.ts'
import type { Caller, Guard } from '../../access/index.ts'
import { actorOf } from '../../access/index.ts'
import type { AgentLife } from '../lifecycle/agent-life.ts'
import { isArchived, refuseDeleted } from './agent-table.ts'
import type { AgentStarts } from '../lifecycle/start-agent.ts'
import { stopInTurn } from '../lifecycle/stop-agent.ts'

export interface Archive {
  /**
   * Puts a worker away: its sandbox is stopped, its tokens are dead, nothing starts it and it is given no work until it
   * is taken back. Its data, permissions, costs and history stay. Idempotent. Problems `denied`, `unknown-agent`,
   * `reserved-agent-id`.
   */
  archive(caller: Caller, agentId: string): Promise<void>
  /** Takes it back; it starts with its next work. Idempotent. */
  unarchive(caller: Caller, agentId: string): Promise<void>
}

export function createArchive(deps: {
  readonly guard: Guard
  readonly life: AgentLife
  readonly starts: AgentStarts
}): Archive {
  const { life } = deps

  function note(caller: Caller, agentId: string, action: 'agent.archived' | 'agent.unarchived'): void {
    life.journal.append({ actor: actorOf(caller), action, subject: agentId, detail: {} })
  }

  return {
    archive: async (caller, agentId) => {
      deps.guard(caller, { do: 'manage-agent', agentId })
      if (life.agents.require(agentId).record.kind === 'operator') {
        throw new Problem('reserved-agent-id', {
          detail: 'the operator cannot be archived',
          repair: operatorStaysWords,
        })
      }
      deps.starts.breakOff(agentId, 'the agent is being archived')
      await life.turns.take(agentId, async () => {
        refuseDeleted(life.agents.require(agentId))
        if (!isArchived(life.agents.require(agentId))) note(caller, agentId, 'agent.archived')
        await stopInTurn(life, agentId, { to: 'archived', reason: 'archived' })
      })
    },
    unarchive: async (caller, agentId) => {
      deps.guard(caller, { do: 'manage-agent', agentId })
      refuseDeleted(life.agents.require(agentId))
      await life.turns.take(agentId, async () => {
        const row = life.agents.require(agentId)
        refuseDeleted(row)
        if (!isArchived(row)) return
        // An engine that refused to stop it is asked once more, so that it does not go on beside its archive.
        if (row.state.kind === 'stopping')
          await stopInTurn(life, agentId, { to: 'archived', reason: 'archived' })
        life.database.transaction(() => {
          life.agents.move(agentId, { kind: 'restore', at: life.clock.now() })
          note(caller, agentId, 'agent.unarchived')
        })
      })
    },
  }
}
