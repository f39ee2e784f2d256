import { meshAgentApi as api, meshAgentEndpoints as endpoints } from '@flotilla/protocol/mesh-agent-api'
import type { AgentSurface } from '../../http/index.ts'
import type { Blackboard } from './blackboard.ts'

export function blackboardAgentRoutes({ bind }: AgentSurface, blackboard: Blackboard): void {
  bind(endpoints.blackboardList, api.blackboardList, ({ caller, query }) => ({
    entries: blackboard.list(caller, query.prefix).entries,
  }))
  bind(endpoints.blackboardRead, api.blackboardRead, ({ caller, params }) =>
    blackboard.read(caller, params.key),
  )
  const written = {
    ...api.blackboardWrite,
    needs: ({ key = '' }: Readonly<Record<string, string>>) => ({ do: 'write-blackboard', key }) as const,
  }
  bind(endpoints.blackboardWrite, written, ({ caller, params: { key }, body, effect }) => {
    const { value, expected_version: expectedVersion, ttl_s: ttlSeconds } = body
    return effect({ key, body }).local(() =>
      blackboard.write(caller, { key, value, expectedVersion, ttlSeconds }),
    )
  })
}
