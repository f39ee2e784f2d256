import type { MeshModule } from '@flotilla/identity/kernel'
import { artifactAgentRoutes } from './agent.routes.ts'
import { createArtifacts } from './artifacts.ts'
import type { Artifacts } from './artifacts.ts'
import { artifactPeopleRoutes } from './people.routes.ts'
import type { CollaborationKernel } from '../events/index.ts'

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
export function artifactsModule(
  kernel: CollaborationKernel,
  { folder, agents, tasks }: Needs,
): MeshModule<Artifacts> {
  const artifacts = createArtifacts({
    ...kernel,
    artifactsFolder: folder,
    projectOf: (agentId) => agents.registry.find(agentId)?.project ?? null,
    sharedByTask: tasks.sharesArtifact,
    saved: kernel.collaborationEvents.artifactSaved.publish,
  })
  kernel.collaborationEvents.projectDeleted.subscribe(artifacts.forgetProject)
  kernel.fleetEvents.agentFilesDropped.subscribe(artifacts.forget)
  return {
    api: artifacts,
    routes: {
      people: (surface) => artifactPeopleRoutes(surface, artifacts),
      agent: (surface) => artifactAgentRoutes(surface, artifacts),
    },
    prepare: artifacts.sweep,
  }
}
