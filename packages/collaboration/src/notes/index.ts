import type { MeshModule } from '@flotilla/identity/kernel'
import { noteAgentRoutes } from './agent.routes.ts'
import { createNotes } from './notes.ts'
import type { Notes } from './notes.ts'
import type { CollaborationKernel } from '../events/index.ts'

export type { Notes } from './notes.ts'

/** Wires the module for notes of agents to the owner. */
export function notesModule(kernel: CollaborationKernel): MeshModule<Notes> {
  const notes = createNotes(kernel)
  kernel.fleetEvents.ownerNoticed.subscribe(({ agentId, message }) => void notes.tellOwner(agentId, message))
  kernel.egressEvents.agentNotedOwner.subscribe(
    ({ caller, message }) => void notes.notifyOwner(caller, { message }),
  )
  return { api: notes, routes: { agent: (surface) => noteAgentRoutes(surface, notes) } }
}
