import { spawnApi as api, spawnEndpoints as endpoints } from '@flotilla/protocol/spawn-api'
import type { AgentSurface } from '@flotilla/identity/http'
import type { SpawnAgent, SpawnReply } from './spawn-agent.ts'

export function spawnAgentRoutes({ bind }: AgentSurface, spawn: SpawnAgent): void {
  const guarded = { ...api.spawn, needs: () => ({ do: 'spawn-agent' }) as const }
  bind(endpoints.spawn, guarded, ({ caller, body, effect }) =>
    effect({ spawn: body }).resumable<SpawnReply>((step) => spawn(caller, body, step)),
  )
}
