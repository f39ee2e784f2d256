import type { DenialCounts, PermissionStore, RateLimits } from '@flotilla/identity/access'
import type { Kernel } from '@flotilla/identity/kernel'
import { agentsModule } from './agents/index.ts'
import type { AgentsNeeds } from './agents/index.ts'
import { isolationModule } from './isolation/index.ts'
import type { Isolation } from './isolation/index.ts'
import { resourcesModule } from './resources/index.ts'
import type { SandboxRuntime } from './sandbox/index.ts'
import { createFleetEvents } from './events/index.ts'
import type { DataPaths, SettingsFile } from '@flotilla/foundation/config'
import type { AgentShares } from '@flotilla/foundation/intake'
import type { IdentityEvents } from '@flotilla/identity/events'

export interface FleetNeeds extends Pick<AgentsNeeds, 'models' | 'loopLimits'> {
  readonly identity: { readonly events: IdentityEvents }
  readonly access: {
    readonly permissions: PermissionStore
    readonly denials: Pick<DenialCounts, 'forget'>
    readonly rates: Pick<RateLimits, 'forget'>
  }
  readonly foundation: {
    readonly shares: AgentShares
    readonly settingsFile: Pick<SettingsFile, 'current' | 'editAll'>
  }
  readonly runtime: SandboxRuntime
  readonly files: Pick<DataPaths, 'briefsFolder' | 'packageLocksFolder'>
  /** The isolation level that the owner requires of every agent. */
  readonly isolationAtLeast: Isolation['atLeast'] | null
  /** The secret of the mesh, from which its identity towards agents is derived. */
  readonly meshSecret: string
}

/** Creates the modules of the fleet: the isolation checks, and the agents with their sandboxes. */
export function fleetModules(kernel: Kernel, needs: FleetNeeds) {
  const { access, runtime, isolationAtLeast, meshSecret, models, loopLimits, files } = needs
  const { permissions, denials, rates } = access
  const { shares } = needs.foundation
  const events = createFleetEvents(kernel.log)
  const seen = { ...kernel, identityEvents: needs.identity.events, fleetEvents: events }
  for (const forget of [denials.forget, rates.forget, shares.calls.forget, shares.replies.forget]) {
    events.agentDeleted.subscribe(forget)
  }
  const isolation = isolationModule(seen, { runtime, atLeast: isolationAtLeast })
  const agents = agentsModule(seen, {
    runtime,
    isolation: isolation.api,
    permissions,
    models,
    replies: { held: shares.held.replies, downloads: shares.held.downloads, loop: shares.replies },
    loopLimits,
    briefsFolder: files.briefsFolder,
    locksFolder: files.packageLocksFolder,
    secret: meshSecret,
  })
  const resources = resourcesModule(seen, {
    agents: agents.api,
    settingsFile: needs.foundation.settingsFile,
  })
  return {
    modules: { isolation, agents, resources },
    events,
    isolation: isolation.api,
    agents: agents.api,
    resources: resources.api,
  }
}
