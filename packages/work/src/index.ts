import type { Agents } from '@flotilla/fleet/agents'
import type { Isolation } from '@flotilla/fleet/isolation'
import type { DiskSpace } from '@flotilla/foundation/storage'
import type { PermissionStore } from '@flotilla/identity/access'
import type { Kernel } from '@flotilla/identity/kernel'
import { approvalsModule } from './approvals/index.ts'
import { pausesModule } from './pauses/index.ts'
import { runsModule } from './runs/index.ts'
import { spawningModule } from './spawning/index.ts'
import { createTaskStore, tasksModule } from './tasks/index.ts'

export interface WorkNeeds {
  readonly fleet: {
    readonly agents: Pick<Agents, 'registry' | 'admin' | 'connection' | 'briefing'>
    readonly isolation: Pick<Isolation, 'state'>
  }
  readonly access: { readonly permissions: PermissionStore }
  readonly diskSpace: Pick<DiskSpace, 'require'>
}

/** Creates the modules of work: runs, tasks, spawned agents, approvals and pauses. */
export function workModules(kernel: Kernel, { fleet, access, diskSpace }: WorkNeeds) {
  const { agents, isolation } = fleet
  const { permissions } = access
  const store = createTaskStore(kernel)
  const runs = runsModule(kernel, { agents, tasks: store.ofRuns, diskSpace })
  const tasks = tasksModule(kernel, { store, runs: runs.api, agents, isolation })
  const spawning = spawningModule(kernel, { agents, runs: runs.api, store, tasks: tasks.api, permissions })
  const approvals = approvalsModule(kernel, { runs: runs.api })
  const pauses = pausesModule(kernel, { runs: runs.api, agents })
  return {
    modules: { runs, tasks, spawning, approvals, pauses },
    runs: runs.api,
    tasks: tasks.api,
    approvals: approvals.api,
    pauses: pauses.api,
  }
}
