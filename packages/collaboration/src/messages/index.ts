import type { MeshModule } from '@flotilla/identity/kernel'
import type { Runs } from '@flotilla/work/runs'
import { messageAgentRoutes } from './agent.routes.ts'
import { messageOperatorRoutes } from './operator.routes.ts'
import type { MessageAgents, MessagePeople } from './message-deps.ts'
import { createMessages } from './messages.ts'
import type { Messages } from './messages.ts'
import { messagePeopleRoutes } from './people.routes.ts'
import type { CollaborationKernel } from '../events/index.ts'

export type { KeptMessages, Messages } from './messages.ts'

/** Wires the module for messages between agents; each message that starts work goes through `submitRun`. */
export function messagesModule(
  kernel: CollaborationKernel,
  needs: {
    readonly agents: { readonly registry: MessageAgents }
    readonly runs: Pick<Runs, 'queue' | 'queries' | 'lifecycle' | 'delivery'>
    readonly people: MessagePeople
  },
): MeshModule<Messages> {
  const { runs } = needs
  const messages = createMessages({
    ...kernel,
    ...needs,
    agents: needs.agents.registry,
    runs: { ...runs.queue, ...runs.queries, ...runs.lifecycle, ...runs.delivery },
  })
  const { fleetEvents, workEvents } = kernel
  workEvents.runSettled.subscribe(messages.runSettled)
  workEvents.runAwaits.subscribe(messages.openOf)
  fleetEvents.agentCapabilities.subscribe(messages.capabilitiesOf)
  fleetEvents.agentDeleted.subscribe(messages.forget)
  return {
    api: messages,
    routes: {
      people: (surface) => messagePeopleRoutes(surface, messages),
      agent: (surface) => messageAgentRoutes(surface, messages),
      operator: (surface) => messageOperatorRoutes(surface, messages),
    },
    metrics: () => [
      {
        name: 'flotilla_messages',
        kind: 'gauge',
        description: 'Messages between agents that are kept, by state',
        samples: Object.entries(messages.countByState()).map(([state, value]) => ({
          labels: { state },
          value,
        })),
      },
    ],
    maintain: messages.trim,
  }
}
