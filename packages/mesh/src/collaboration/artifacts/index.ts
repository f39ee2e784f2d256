import type { Kernel, MeshModule } from '../../kernel/index.ts'
import { artifactAgentRoutes } from './agent.routes.ts'
import { createArtifacts } from './artifacts.ts'
import type { Artifacts } from './artifacts.ts'
import { artifactPeopleRoutes } from './people.routes.ts'

/** Files that agents save for people and each other. */
export function artifactsModule(
  kernel: Kernel,
  { folder }: { readonly folder: string },
): MeshModule<Artifacts> {
  const artifacts = createArtifacts({ ...kernel, artifactsFolder: folder })
  kernel.hooks.agentFilesDropped.subscribe(artifacts.forget)
  return {
    api: artifacts,
    routes: {
      people: (surface) => artifactPeopleRoutes(surface, artifacts),
      agent: (surface) => artifactAgentRoutes(surface, artifacts),
    },
    prepare: artifacts.sweep,
  }
}
