import { blackboardWatchApi, blackboardWatchEndpoints } from '@flotilla/protocol/blackboard-api'
import { meshAgentApi as api, meshAgentEndpoints as endpoints } from '@flotilla/protocol/mesh-agent-api'
import type { AgentSurface } from '@flotilla/identity/http'
import type { Blackboard } from './blackboard.ts'
import type { BlackboardWatches } from './set-watch.ts'

export function blackboardAgentRoutes(
  { bind }: AgentSurface,
  { blackboard, watches }: { readonly blackboard: Blackboard; readonly watches: BlackboardWatches },
): void {
  const [watchPaths, watchApi] = [blackboardWatchEndpoints, blackboardWatchApi]
  bind(watchPaths.blackboardWatches, watchApi.blackboardWatches, ({ caller }) => ({
    watches: watches.list(caller),
  }))
  // A repeated call changes nothing, so this route needs no idempotency key.
  bind(watchPaths.blackboardWatch, watchApi.blackboardWatch, ({ caller, body }) => ({
    watches: watches.set(caller, { agentId: caller.agentId, ...body }),
  }))
  bind(endpoints.blackboardList, api.blackboardList, async ({ caller, query }) => ({
    entries: (await blackboard.list(caller, query.prefix)).entries,
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
