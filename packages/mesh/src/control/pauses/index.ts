import { makerOf } from '../../kernel/index.ts'
import type { Kernel, MeshModule } from '../../kernel/index.ts'
import { createPauses } from './pauses.ts'
import type { PausedLanes, Pauses } from './pauses.ts'
import { pausePeopleRoutes } from './people.routes.ts'

export type { Pauses } from './pauses.ts'

/** The kill switch of an agent and of the fleet. */
export function pausesModule(
  kernel: Kernel,
  needs: {
    readonly runs: PausedLanes
    readonly agents: { list(): readonly { readonly id: string }[] }
  },
): MeshModule<Pauses> {
  const pauses = createPauses({
    ...kernel,
    lanes: needs.runs,
    agentIds: () => needs.agents.list().map(({ id }) => id),
    makerOf: (agentId) => makerOf(kernel.hooks, agentId),
  })
  kernel.hooks.reasonsToPause.subscribe((agentId) => {
    const reason = pauses.reasonFor(agentId)
    return reason === null ? [] : [reason]
  })
  kernel.hooks.agentDeleted.subscribe(pauses.forget)
  return { api: pauses, routes: { people: (surface) => pausePeopleRoutes(surface, pauses) } }
}
