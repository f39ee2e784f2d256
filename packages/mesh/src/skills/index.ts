import type { Kernel, MeshModule } from '../kernel/index.ts'
import { skillAgentRoutes } from './agent.routes.ts'
import { createCheckInThread } from './check-in-thread.ts'
import { createSkillCheck } from './create-skill-check.ts'

/** Checks the sources of skills; an agent runs what passed. Nothing else of the mesh asks for it. */
export function skillsModule(kernel: Kernel): MeshModule<null> {
  const check = createSkillCheck({ ...kernel, checkSource: createCheckInThread() })
  return { api: null, routes: { agent: (surface) => skillAgentRoutes(surface, check) } }
}
