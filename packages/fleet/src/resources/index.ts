import { agentSettingsOf } from '@flotilla/foundation/config'
import type { SettingsFile } from '@flotilla/foundation/config'
import { rootOf } from '@flotilla/identity/events'
import type { MeshModule } from '@flotilla/identity/kernel'
import type { Agents } from '../agents/index.ts'
import type { FleetKernel } from '../events/index.ts'
import { createAgentHarnesses } from './agent-harnesses.ts'
import { createAgentImages } from './agent-images.ts'
import { createAgentSizes } from './agent-sizes.ts'
import type { AgentSizes } from './agent-sizes.ts'
import { createManagePackages } from './manage-packages.ts'
import type { ManagePackages } from './manage-packages.ts'
import { resourcesPeopleRoutes } from './people.routes.ts'

export { joinedList } from './joined-list.ts'
export type { GrantedPackages, ManagePackages } from './manage-packages.ts'
export type { AgentSizes } from './agent-sizes.ts'

/** What a person grants to agents. */
export interface Resources {
  readonly packages: Pick<ManagePackages, 'grant'>
  readonly sizes: AgentSizes
}

/** Creates the resources module: what the owner gives to agents, such as packages in their images. */
export function resourcesModule(
  kernel: FleetKernel,
  needs: {
    readonly agents: Pick<Agents, 'registry' | 'packages' | 'room'>
    readonly settingsFile: Pick<SettingsFile, 'current' | 'editAll'>
  },
): MeshModule<Resources> {
  const { agents, settingsFile } = needs
  kernel.fleetEvents.packageLists.subscribe((agentId) => {
    const root = rootOf(kernel.identityEvents, agentId)
    return [agentSettingsOf(settingsFile.current(), root).packages ?? {}]
  })
  const shared = { ...kernel, ...agents.registry, settingsFile }
  const packages = createManagePackages({ ...shared, ...agents })
  const sizes = createAgentSizes({ ...shared, ...agents })
  const harnesses = createAgentHarnesses({ ...shared, ...agents })
  const images = createAgentImages({ ...shared, ...agents })
  return {
    api: { packages, sizes },
    routes: {
      people: (surface) => resourcesPeopleRoutes(surface, { packages, sizes, harnesses, images }),
    },
  }
}
