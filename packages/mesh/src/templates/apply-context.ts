import type { NewId } from '@flotilla/protocol/ids'
import type { PermissionGrants, PermissionStore } from '../access/index.ts'
import type { AgentAdmin, AgentBriefing } from '../agents/index.ts'
import type { BlackboardWatches } from '../collaboration/blackboard/index.ts'
import type { Projects } from '../collaboration/projects/index.ts'
import type { SettingsFile } from '../config/index.ts'
import type { Kernel } from '../kernel/index.ts'
import type { Spending } from '../spending/index.ts'
import type { CronJobs } from '../triggers/cron/index.ts'
import type { FileWatches } from '../triggers/watch/index.ts'
import type { Webhooks } from '../triggers/webhook/index.ts'
import type { ApplicationTable } from './application-table.ts'
import type { StandingFleetDeps } from './standing-fleet.ts'

/** The dependencies of an application of a template. */
export interface ApplyTemplateDeps extends StandingFleetDeps {
  readonly kernel: Pick<Kernel, 'database' | 'guard' | 'decide' | 'journal' | 'clock' | 'log'> & {
    readonly newId: NewId
  }
  readonly grants: Pick<PermissionGrants, 'aboveOperatorCeiling'>
  readonly applications: ApplicationTable
  readonly agents: StandingFleetDeps['agents'] & Pick<AgentAdmin, 'write'> & AgentBriefing
  readonly permissions: StandingFleetDeps['permissions'] & Pick<PermissionStore, 'edit'>
  readonly spending: { readonly budgets: Pick<Spending['budgets'], 'projectLimits' | 'set'> }
  readonly webhooks: StandingFleetDeps['webhooks'] & Pick<Webhooks, 'prepare'>
  readonly jobs: StandingFleetDeps['jobs'] & Pick<CronJobs, 'edit' | 'readCondition'>
  readonly watches: StandingFleetDeps['watches'] & Pick<BlackboardWatches, 'give'>
  readonly projects: StandingFleetDeps['projects'] & Pick<Projects, 'give'>
  readonly fileWatches: StandingFleetDeps['fileWatches'] &
    Pick<FileWatches, 'refresh' | 'prepare' | 'write' | 'takeBack'>
  readonly settingsFile: StandingFleetDeps['settingsFile'] & Pick<SettingsFile, 'editAll'>
}
