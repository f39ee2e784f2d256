import type { Kernel, MeshModule } from '@flotilla/identity/kernel'
import { artifactAgentRoutes } from './agent.routes.ts'
import { createArtifacts } from './artifacts.ts'
import type { Artifacts } from './artifacts.ts'
import { artifactPeopleRoutes } from './people.routes.ts'

interface Needs {
  readonly folder: string
  readonly agents: {
    readonly registry: { find(agentId: string): { readonly project: string | null } | null }
  }
  readonly tasks: {
    sharesArtifact(agentId: string, artifact: { readonly ownerId: string; readonly name: string }): boolean
  }
}

export type { Artifacts } from './artifacts.ts'

/** Wires the module for files that agents save for people and for each other. */
export function artifactsModule(kernel: Kernel, { folder, agents, tasks }: Needs): MeshModule<Artifacts> {
  const artifacts = createArtifacts({
    ...kernel,
    artifactsFolder: folder,
    projectOf: (agentId) => agents.registry.find(agentId)?.project ?? null,
    sharedByTask: tasks.sharesArtifact,
    saved: kernel.hooks.artifactSaved.publish,
  })
  kernel.hooks.projectDeleted.subscribe(artifacts.forgetProject)
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
