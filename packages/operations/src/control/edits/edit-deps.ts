import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import type { HoldCeiling, PermissionStore } from '@flotilla/identity/access'
import type {
  AgentAdmin,
  AgentBriefing,
  AgentRegistry,
  AgentMutex,
  RequireModel,
} from '@flotilla/fleet/agents'
import type { Kernel } from '@flotilla/identity/kernel'
import type { ChangeTable } from './change-table.ts'
import type { ReachTexts } from './edit-file.ts'
import type { SetAgentBudget } from './edit-record.ts'
import type { Editable } from './editable.ts'

/** Dependencies of edits of agents. */
export interface EditsDeps extends Pick<
  Kernel,
  'database' | 'guard' | 'journal' | 'clock' | 'newId' | 'log'
> {
  readonly events: Pick<Kernel['events'], 'publish'>
  readonly fleet: Pick<AgentRegistry, 'find' | 'require' | 'mcpServers' | 'seedFiles'> &
    Pick<AgentAdmin, 'change'> &
    AgentBriefing & {
      readonly reach: ReachTexts
    }
  readonly permissions: Pick<PermissionStore, 'edit'>
  readonly holdCeiling: HoldCeiling
  readonly setBudget: SetAgentBudget
  readonly requireModel: RequireModel
}

/** The dependencies, with what all edits of a fleet share. */
export interface EditParts extends EditsDeps {
  readonly table: ChangeTable
  readonly mutex: AgentMutex
  readonly editableOf: (field: AgentEdit['field']) => Editable
}
