import { skillApi as api, skillEndpoints as endpoints } from '@flotilla/protocol/skills-api'
import type { AgentSurface } from '@flotilla/identity/http'
import type { SkillCheck } from './create-skill-check.ts'

export function skillAgentRoutes({ bind }: AgentSurface, check: SkillCheck): void {
  // The check changes nothing, so it needs no idempotency key.
  bind(endpoints.skillCheck, api.skillCheck, ({ caller, body }) => check(caller, body))
}
