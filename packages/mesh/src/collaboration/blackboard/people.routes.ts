import { meshHumanApi as api, meshHumanEndpoints as endpoints } from '@flotilla/protocol/mesh-human-api'
import type { PeopleSurface } from '../../http/index.ts'
import type { Blackboard } from './blackboard.ts'

export function blackboardPeopleRoutes({ bind }: PeopleSurface, blackboard: Blackboard): void {
  bind(endpoints.blackboard, api.blackboard, ({ caller, query }) => ({
    entries: blackboard.list(caller, query.prefix).entries,
  }))
}
