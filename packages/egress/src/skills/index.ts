import type { Kernel, MeshModule } from '@flotilla/identity/kernel'
import { skillAgentRoutes } from './agent.routes.ts'
import { createCheckInThread } from './check-in-thread.ts'
import { createSkillCheck } from './create-skill-check.ts'

/** Checks the sources of skills; the agent itself runs accepted ones. No other module of the mesh uses it. */
export function skillsModule(kernel: Kernel): MeshModule<null> {
  const check = createSkillCheck({ ...kernel, checkSource: createCheckInThread() })
  return { api: null, routes: { agent: (surface) => skillAgentRoutes(surface, check) } }
}
