import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { Caller, Guard } from '../access/index.ts'
import type { Fleet } from '../agents/index.ts'
import type { AgentViews } from './agent-views.ts'

/** Agents that are put away, for the operator and for programs of this machine. */
export function createArchiveActions(deps: {
  readonly guard: Guard
  readonly agents: Pick<Fleet, 'archive'>
  readonly views: AgentViews
}) {
  const { guard, agents, views } = deps
  return {
    list: (caller: Caller): readonly AgentView[] => {
      guard(caller, { do: 'view-fleet' })
      return views.all().filter(({ archived }) => archived)
    },
    archive: async (caller: Caller, agentId: string): Promise<AgentView> => {
      guard(caller, { do: 'manage-agent', agentId })
      await agents.archive.archive(caller, agentId)
      return views.of(agentId)
    },
    unarchive: (caller: Caller, agentId: string): AgentView => {
      guard(caller, { do: 'manage-agent', agentId })
      agents.archive.unarchive(caller, agentId)
      return views.of(agentId)
    },
  }
}

export type ArchiveActions = ReturnType<typeof createArchiveActions>
