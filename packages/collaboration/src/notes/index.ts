import type { Kernel, MeshModule } from '@flotilla/identity/kernel'
import { noteAgentRoutes } from './agent.routes.ts'
import { createNotes } from './notes.ts'
import type { Notes } from './notes.ts'

export type { Notes } from './notes.ts'

/** Wires the module for notes of agents to the owner. */
export function notesModule(kernel: Kernel): MeshModule<Notes> {
  const notes = createNotes(kernel)
  kernel.hooks.ownerNoticed.subscribe(({ agentId, message }) => void notes.tellOwner(agentId, message))
  kernel.hooks.agentNotedOwner.subscribe(({ caller, message }) => void notes.notifyOwner(caller, { message }))
  return { api: notes, routes: { agent: (surface) => noteAgentRoutes(surface, notes) } }
}
