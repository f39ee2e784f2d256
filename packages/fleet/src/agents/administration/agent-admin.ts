import type { Guard, PermissionGrants } from '@flotilla/identity/access'
import type { AgentContext } from '../lifecycle/agent-context.ts'
import type { AgentStarts } from '../lifecycle/start-agent.ts'
import { createArchive } from './archive-agent.ts'
import type { Archive } from './archive-agent.ts'
import { changeAgent } from './change-agent.ts'
import type { ChangeAgent } from './change-agent.ts'
import { createAgent } from './create-agent.ts'
import type { CreateAgent, RequireModel } from './create-agent.ts'
import { deleteAgent } from './delete-agent.ts'
import type { DeleteAgent } from './delete-agent.ts'
import { createShortLived } from './short-lived.ts'
import type { ShortLived } from './short-lived.ts'
import { writeAgents } from './write-agents.ts'
import type { WriteAgents } from './write-agents.ts'

/** The operations on agents. */
export interface AgentAdmin {
  readonly create: CreateAgent
  /** Changes an agent's record; a running sandbox is re-created before its next run if the change requires that. */
  readonly change: ChangeAgent
  /** Creates and changes many agents in one transaction of the caller, after earlier operations on each of them. */
  readonly write: WriteAgents
  readonly archive: Archive
  readonly delete: DeleteAgent
  readonly shortLived: ShortLived
}

export function createAgentAdmin(deps: {
  readonly context: AgentContext
  readonly starts: AgentStarts
  readonly guard: Guard
  readonly grants: PermissionGrants
  readonly requireModel: RequireModel
}): AgentAdmin {
  return {
    create: createAgent(deps),
    change: changeAgent(deps.context),
    write: writeAgents(deps),
    archive: createArchive(deps),
    delete: deleteAgent(deps),
    shortLived: createShortLived(deps),
  }
}
