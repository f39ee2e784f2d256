import { agentSettingsOf } from '@flotilla/foundation/config'
import type { SettingsFile } from '@flotilla/foundation/config'
import { rootOf } from '@flotilla/identity/events'
import type { MeshModule } from '@flotilla/identity/kernel'
import type { Agents } from '../agents/index.ts'
import type { FleetKernel } from '../events/index.ts'
import { createAgentSizes } from './agent-sizes.ts'
import { createManagePackages } from './manage-packages.ts'
import { resourcesPeopleRoutes } from './people.routes.ts'

/** Creates the resources module: what the owner gives to agents, such as packages in their images. */
export function resourcesModule(
  kernel: FleetKernel,
  needs: {
    readonly agents: Pick<Agents, 'registry' | 'packages'>
    readonly settingsFile: Pick<SettingsFile, 'current' | 'editAll'>
  },
): MeshModule {
  const { agents, settingsFile } = needs
  kernel.fleetEvents.packageLists.subscribe((agentId) => {
    const root = rootOf(kernel.identityEvents, agentId)
    return [agentSettingsOf(settingsFile.current(), root).packages ?? {}]
  })
  const packages = createManagePackages({ ...kernel, ...agents, settingsFile })
  const sizes = createAgentSizes({ ...kernel, ...agents, settingsFile })
  return { api: {}, routes: { people: (surface) => resourcesPeopleRoutes(surface, { packages, sizes }) } }
}
