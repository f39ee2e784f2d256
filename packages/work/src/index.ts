import type { Agents } from '@flotilla/fleet/agents'
import type { Isolation } from '@flotilla/fleet/isolation'
import type { DiskSpace } from '@flotilla/foundation/storage'
import type { PermissionStore } from '@flotilla/identity/access'
import type { Kernel } from '@flotilla/identity/kernel'
import { createCheckEffect, createPolicyUse } from '@flotilla/identity/policy'
import type { PolicyStore } from '@flotilla/identity/policy'
import { approvalsModule } from './approvals/index.ts'
import { harnessModule } from './harness/index.ts'
import { pausesModule } from './pauses/index.ts'
import { runsModule } from './runs/index.ts'
import { spawningModule } from './spawning/index.ts'
import { createTaskStore, tasksModule } from './tasks/index.ts'
import { createWorkEvents } from './events/index.ts'
import { rootOf } from '@flotilla/identity/events'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { FleetEvents } from '@flotilla/fleet/events'

export interface WorkNeeds {
  readonly identity: { readonly events: IdentityEvents }
  readonly fleet: {
    readonly events: FleetEvents
    readonly agents: Pick<Agents, 'registry' | 'admin' | 'connection' | 'briefing' | 'lifecycle'>
    readonly isolation: Pick<Isolation, 'state'>
  }
  readonly access: { readonly permissions: PermissionStore; readonly policy: PolicyStore }
  readonly foundation: {
    readonly diskSpace: Pick<DiskSpace, 'require'>
    /** The effects of agents' calls, whose keys are forgotten after their run. */
    readonly effects: { runEnded(runId: string): void }
  }
}

/** Creates the modules of work: runs, tasks, spawned agents, approvals and pauses. */
export function workModules(kernel: Kernel, { identity, fleet, access, foundation }: WorkNeeds) {
  const { diskSpace, effects } = foundation
  const events = createWorkEvents()
  const seen = { ...kernel, identityEvents: identity.events, fleetEvents: fleet.events, workEvents: events }
  const { agents, isolation } = fleet
  const { permissions } = access
  const store = createTaskStore(seen)
  events.runSettled.subscribe(({ id }) => kernel.database.afterCommit(() => effects.runEnded(id)))
  events.runSettled.subscribe(agents.lifecycle.runSettled)
  const runs = runsModule(seen, { agents, tasks: store.ofRuns, diskSpace })
  const tasks = tasksModule(seen, { store, runs: runs.api, agents, isolation })
  const spawning = spawningModule(seen, { agents, runs: runs.api, store, tasks: tasks.api, permissions })
  const approvals = approvalsModule(seen, { runs: runs.api })
  const policyUse = createPolicyUse(kernel)
  fleet.events.agentDeleted.subscribe(policyUse.forget)
  const checkEffect = createCheckEffect({
    ...kernel,
    use: policyUse,
    policy: access.policy,
    projectOf: (agentId) => identity.events.projectOf.ask(rootOf(identity.events, agentId))[0]?.name ?? null,
    originsOf: (runId) => {
      const origins = runs.api.queries.chainOf(runId).map(({ origin }) => origin)
      return { origins: origins.map(({ kind }) => kind), channels: origins.map(({ channel }) => channel) }
    },
  })
  const pauses = pausesModule(seen, { runs: runs.api, agents })
  const harness = harnessModule(seen, { checkEffect, approvals: approvals.api, runs: runs.api })
  return {
    modules: {
      runs,
      tasks,
      spawning,
      approvals,
      pauses,
      harness,
      policyUse: { api: {}, run: policyUse.run },
    },
    events,
    runs: runs.api,
    tasks: tasks.api,
    approvals: approvals.api,
    checkEffect,
    policyUse,
    pauses: pauses.api,
  }
}
