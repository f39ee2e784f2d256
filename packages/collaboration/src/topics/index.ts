import type { MeshModule } from '@flotilla/identity/kernel'
import { topicAgentRoutes } from './agent.routes.ts'
import { topicPeopleRoutes } from './people.routes.ts'
import { createTopics } from './topics.ts'
import type { Topics } from './topics.ts'
import type { CollaborationKernel } from '../events/index.ts'

export type { Topics, UnreadSummary } from './topics.ts'

/** Wires the module for signals to subscribed agents. */
export function topicsModule(
  kernel: CollaborationKernel,
  needs: { readonly agents: { readonly registry: { require(agentId: string): unknown } } },
): MeshModule<Topics> {
  const topics = createTopics(kernel)
  kernel.workEvents.runSettled.subscribe(topics.runSettled)
  kernel.fleetEvents.agentDeleted.subscribe(topics.forget)
  kernel.collaborationEvents.projectDeleted.subscribe(topics.forgetProject)
  return {
    api: topics,
    routes: {
      people: (surface) => topicPeopleRoutes(surface, { agents: needs.agents.registry, topics }),
      agent: (surface) => topicAgentRoutes(surface, topics),
    },
    maintain: () => void topics.sweep(),
  }
}
