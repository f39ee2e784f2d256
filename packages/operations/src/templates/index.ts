import type { PermissionStore } from '@flotilla/identity/access'
import { createPermissionGrants } from '@flotilla/identity/access'
import type { Agents } from '@flotilla/fleet/agents'
import type { SettingsFile } from '@flotilla/foundation/config'
import type { BlackboardWatches } from '@flotilla/collaboration/blackboard'
import type { Projects } from '@flotilla/collaboration/projects'
import type { Kernel, MeshModule } from '@flotilla/identity/kernel'
import type { Spending } from '@flotilla/inference/spending'
import type { CronJobs } from '@flotilla/inbound/triggers/cron'
import type { FileWatches } from '@flotilla/inbound/triggers/watch'
import type { Webhooks } from '@flotilla/inbound/triggers/webhook'
import { createApplicationTable } from './application-table.ts'
import { createApplyTemplate } from './apply-template.ts'
import { templateOperatorRoutes } from './operator.routes.ts'
import { templatePeopleRoutes } from './people.routes.ts'
import { createTemplates } from './template-folders.ts'
import { createTemplateUses } from './template-uses.ts'
import type { TemplateUses } from './template-uses.ts'

import { notUndoneRepair, notUndoneWords } from './undo-application.ts'
import type { NotUndone } from './undo-application.ts'

export { parseTemplate } from './template-file.ts'

interface Needs {
  readonly agents: Pick<Agents, 'registry' | 'admin' | 'briefing'>
  readonly permissions: PermissionStore
  readonly spending: { readonly budgets: Pick<Spending['budgets'], 'projectLimits' | 'set'> }
  readonly webhooks: Pick<Webhooks, 'all' | 'prepare'>
  readonly jobs: CronJobs
  readonly blackboard: { readonly watches: BlackboardWatches }
  readonly fileWatches: FileWatches
  readonly projects: Pick<Projects, 'textsOf' | 'give'>
  readonly settingsFile: SettingsFile
  /** The folders of templates, the owner's first. */
  readonly folders: readonly string[]
}

/** The templates module: list, plan, apply and export. */
export function templatesModule(kernel: Kernel, needs: Needs): MeshModule<TemplateUses> {
  const { guard, log } = kernel
  const deps = {
    ...needs,
    watches: needs.blackboard.watches,
    agents: { ...needs.agents.registry, ...needs.agents.admin, ...needs.agents.briefing },
    grants: createPermissionGrants(needs.permissions),
  }
  const application = createApplyTemplate({
    ...deps,
    kernel,
    applications: createApplicationTable(kernel.database),
  })

  const use = createTemplateUses({ ...deps, guard, application, templates: createTemplates(needs.folders) })

  let notUndone: readonly NotUndone[] = []
  return {
    api: use,
    routes: {
      people: (surface) => templatePeopleRoutes(surface, use),
      operator: (surface) => templateOperatorRoutes(surface, use),
    },
    start: async () => {
      const { undone, left } = await application.undoOpen()
      if (undone > 0) log.warn({ undone }, 'undid templates whose application was interrupted')
      for (const { file, error } of left) {
        log.error(
          { file, err: error },
          'failed to undo an interrupted template in a file; the next start retries',
        )
      }
      notUndone = left
    },
    notices: () =>
      notUndone.length === 0
        ? []
        : [`A template was interrupted: ${notUndoneWords(notUndone)}. ${notUndoneRepair}`],
  }
}
