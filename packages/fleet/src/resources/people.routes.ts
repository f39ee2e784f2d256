import { agentHarnessApi, agentHarnessEndpoints } from '@flotilla/protocol/agent-harness'
import { agentImageApi, agentImageEndpoints } from '@flotilla/protocol/agent-image'
import { agentSizeApi, agentSizeEndpoints } from '@flotilla/protocol/agent-size'
import { packagesHumanApi as api, packagesHumanEndpoints as endpoints } from '@flotilla/protocol/packages-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { AgentHarnesses } from './agent-harnesses.ts'
import type { AgentImages } from './agent-images.ts'
import type { AgentSizes } from './agent-sizes.ts'
import type { ManagePackages } from './manage-packages.ts'

export function resourcesPeopleRoutes(
  { bind }: PeopleSurface,
  {
    packages,
    sizes,
    harnesses,
    images,
  }: {
    readonly packages: ManagePackages
    readonly sizes: AgentSizes
    readonly harnesses: AgentHarnesses
    readonly images: AgentImages
  },
): void {
  bind(endpoints.packages, api.packages, ({ caller }) => packages.list(caller))
  bind(endpoints.agentPackages, api.agentPackages, ({ caller, params }) => packages.view(caller, params.id))
  bind(endpoints.setAgentPackages, api.setAgentPackages, ({ caller, params, body }) =>
    packages.set(caller, params.id, body),
  )
  bind(endpoints.rebuildPackages, api.rebuildPackages, ({ caller, params }) =>
    packages.rebuild(caller, params.id),
  )
  bind(agentSizeEndpoints.agentSize, agentSizeApi.agentSize, ({ caller, params }) =>
    sizes.view(caller, params.id),
  )
  bind(agentImageEndpoints.agentImage, agentImageApi.agentImage, ({ caller, params }) =>
    images.view(caller, params.id),
  )
  bind(agentImageEndpoints.setAgentImage, agentImageApi.setAgentImage, ({ caller, params, body, gone }) =>
    images.set(caller, params.id, { image: body.image, signal: gone() }),
  )
  bind(agentSizeEndpoints.setAgentSize, agentSizeApi.setAgentSize, ({ caller, params, body }) =>
    sizes.set(caller, params.id, body),
  )
  bind(agentHarnessEndpoints.agentHarness, agentHarnessApi.agentHarness, ({ caller, params }) =>
    harnesses.view(caller, params.id),
  )
  bind(agentHarnessEndpoints.setAgentHarness, agentHarnessApi.setAgentHarness, ({ caller, params, body }) =>
    harnesses.set(caller, params.id, body),
  )
}
