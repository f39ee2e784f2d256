import { blackboardHumanApi, blackboardHumanEndpoints } from '@flotilla/protocol/blackboard-api'
import { meshHumanApi as api, meshHumanEndpoints as endpoints } from '@flotilla/protocol/mesh-human-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { Blackboard } from './blackboard.ts'
import type { BlackboardWatches } from './set-watch.ts'

export function blackboardPeopleRoutes(
  { bind }: PeopleSurface,
  { blackboard, watches }: { readonly blackboard: Blackboard; readonly watches: BlackboardWatches },
): void {
  const [paths, schemas] = [blackboardHumanEndpoints, blackboardHumanApi]
  bind(endpoints.blackboard, api.blackboard, async ({ caller, query }) => ({
    entries: (await blackboard.list(caller, query.prefix)).entries,
  }))
  bind(paths.blackboardEntry, schemas.blackboardEntry, ({ caller, params }) =>
    blackboard.read(caller, params.key),
  )
  bind(paths.blackboardHistory, schemas.blackboardHistory, ({ caller, params }) =>
    blackboard.history(caller, params.key),
  )
  bind(paths.blackboardPut, schemas.blackboardPut, ({ caller, params: { key }, body }) => {
    const { value, expected_version: expectedVersion, ttl_s: ttlSeconds } = body
    return blackboard.write(caller, { key, value, expectedVersion, ttlSeconds })
  })
  bind(paths.blackboardDelete, schemas.blackboardDelete, ({ caller, params: { key } }) => {
    blackboard.remove(caller, key)
    return { deleted: key }
  })
  bind(paths.blackboardWatchList, schemas.blackboardWatchList, ({ caller }) => ({
    watches: watches.list(caller),
  }))
  bind(paths.blackboardWatchSet, schemas.blackboardWatchSet, ({ caller, body }) => {
    const { agent_id: agentId, ...wish } = body
    return { watches: watches.set(caller, { agentId, ...wish }) }
  })
}
