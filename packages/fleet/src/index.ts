import type { PermissionStore } from '@flotilla/identity/access'
import type { Kernel } from '@flotilla/identity/kernel'
import { agentsModule } from './agents/index.ts'
import type { AgentsNeeds } from './agents/index.ts'
import { isolationModule } from './isolation/index.ts'
import type { Isolation } from './isolation/index.ts'
import type { SandboxRuntime } from './sandbox/index.ts'

export interface FleetNeeds extends Pick<AgentsNeeds, 'models' | 'replies' | 'loopLimits' | 'briefsFolder'> {
  readonly access: { readonly permissions: PermissionStore }
  readonly runtime: SandboxRuntime
  /** The isolation level that the owner requires of every agent. */
  readonly isolationAtLeast: Isolation['atLeast'] | null
  /** The secret of the mesh, from which its identity towards agents is derived. */
  readonly meshSecret: string
}

/** Creates the modules of the fleet: the isolation checks, and the agents with their sandboxes. */
export function fleetModules(kernel: Kernel, needs: FleetNeeds) {
  const { access, runtime, isolationAtLeast, meshSecret, models, replies, loopLimits, briefsFolder } = needs
  const isolation = isolationModule(kernel, { runtime, atLeast: isolationAtLeast })
  const agents = agentsModule(kernel, {
    runtime,
    isolation: isolation.api,
    permissions: access.permissions,
    models,
    replies,
    loopLimits,
    briefsFolder,
    secret: meshSecret,
  })
  return { modules: { isolation, agents }, isolation: isolation.api, agents: agents.api }
}
