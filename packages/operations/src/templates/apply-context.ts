import type { NewId } from '@flotilla/protocol/ids'
import type { PermissionGrants, PermissionStore } from '@flotilla/identity/access'
import type { AgentAdmin, AgentBriefing } from '@flotilla/fleet/agents'
import type { BlackboardWatches } from '@flotilla/collaboration/blackboard'
import type { Projects } from '@flotilla/collaboration/projects'
import type { SettingsFile } from '@flotilla/foundation/config'
import type { Kernel } from '@flotilla/identity/kernel'
import type { Spending } from '@flotilla/inference/spending'
import type { CronJobs } from '@flotilla/inbound/triggers/cron'
import type { FileWatches } from '@flotilla/inbound/triggers/watch'
import type { Webhooks } from '@flotilla/inbound/triggers/webhook'
import type { ApplicationTable } from './application-table.ts'
import type { CurrentFleetDeps } from './current-fleet.ts'

/** The dependencies of an application of a template. */
export interface ApplyTemplateDeps extends CurrentFleetDeps {
  readonly kernel: Pick<Kernel, 'database' | 'guard' | 'decide' | 'journal' | 'clock' | 'log'> & {
    readonly newId: NewId
  }
  readonly grants: Pick<PermissionGrants, 'aboveOperatorCeiling'>
  readonly applications: ApplicationTable
  readonly agents: CurrentFleetDeps['agents'] & Pick<AgentAdmin, 'write'> & AgentBriefing
  readonly permissions: CurrentFleetDeps['permissions'] & Pick<PermissionStore, 'edit'>
  readonly spending: { readonly budgets: Pick<Spending['budgets'], 'projectLimits' | 'set'> }
  readonly webhooks: CurrentFleetDeps['webhooks'] & Pick<Webhooks, 'prepare'>
  readonly jobs: CurrentFleetDeps['jobs'] & Pick<CronJobs, 'edit' | 'readCondition'>
  readonly watches: CurrentFleetDeps['watches'] & Pick<BlackboardWatches, 'give'>
  readonly projects: CurrentFleetDeps['projects'] & Pick<Projects, 'give'>
  readonly fileWatches: CurrentFleetDeps['fileWatches'] &
    Pick<FileWatches, 'refresh' | 'prepare' | 'write' | 'takeBack'>
  readonly settingsFile: CurrentFleetDeps['settingsFile'] & Pick<SettingsFile, 'editAll'>
}
