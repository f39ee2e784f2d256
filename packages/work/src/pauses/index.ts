import type { Agents } from '@flotilla/fleet/agents'
import { makerOf } from '@flotilla/identity/events'
import type { MeshModule } from '@flotilla/identity/kernel'
import type { Runs } from '../runs/index.ts'
import { createPauses } from './pauses.ts'
import type { Pauses } from './pauses.ts'
import { pausePeopleRoutes } from './people.routes.ts'
import type { WorkKernel } from '../events/index.ts'

export type { Pauses } from './pauses.ts'

/** Creates the module with the kill switch for an agent and for the fleet. */
export function pausesModule(
  kernel: WorkKernel,
  needs: {
    readonly runs: Pick<Runs, 'queue' | 'lifecycle'>
    readonly agents: Pick<Agents, 'registry'>
  },
): MeshModule<Pauses> {
  const pauses = createPauses({
    ...kernel,
    lanes: { ...needs.runs.queue, ...needs.runs.lifecycle },
    agentIds: () => needs.agents.registry.list().map(({ id }) => id),
    makerOf: (agentId) => makerOf(kernel.identityEvents, agentId),
  })
  kernel.workEvents.reasonsToPause.subscribe((agentId) => {
    const reason = pauses.reasonFor(agentId)
    return reason === null ? [] : [reason]
  })
  kernel.fleetEvents.agentDeleted.subscribe(pauses.forget)
  return { api: pauses, routes: { people: (surface) => pausePeopleRoutes(surface, pauses) } }
}
