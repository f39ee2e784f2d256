import { Problem } from '@flotilla/protocol/problem'
import { operatorStaysWords } from './operator-stays.ts'
import type { Caller, Guard } from '../../access/index.ts'
import { actorOf } from '../../access/index.ts'
import type { AgentLife } from '../lifecycle/agent-life.ts'
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
  unarchive(caller: Caller, agentId: string): void
}

export function createArchive(deps: {
  readonly guard: Guard
  readonly life: AgentLife
  readonly starts: AgentStarts
}): Archive {
  const { life } = deps

  function write(caller: Caller, agentId: string, archivedAt: number | null): void {
    if ((life.agents.require(agentId).archivedAt === null) === (archivedAt === null)) return
    life.database.transaction(() => {
      life.agents.setArchived(agentId, archivedAt)
      life.journal.append({
        actor: actorOf(caller),
        action: archivedAt === null ? 'agent.unarchived' : 'agent.archived',
        subject: agentId,
        detail: {},
      })
    })
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
      // First, so that nothing starts it again between its stop and the row.
      write(caller, agentId, life.clock.now())
      deps.starts.breakOff(agentId, 'the agent is being archived')
      await life.turns.take(agentId, () => stopInTurn(life, agentId, { reason: 'archived', gone: 'stopped' }))
    },
    unarchive: (caller, agentId) => {
      deps.guard(caller, { do: 'manage-agent', agentId })
      write(caller, agentId, null)
    },
  }
}
