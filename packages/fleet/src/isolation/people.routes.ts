import { meshHumanApi as api, meshHumanEndpoints as endpoints } from '@flotilla/protocol/mesh-human-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import { isolationView } from './isolation-view.ts'
import type { Isolation } from './watch-isolation.ts'

export function isolationPeopleRoutes({ bind }: PeopleSurface, isolation: Isolation): void {
  bind(endpoints.walls, api.walls, ({ caller }) => isolationView(isolation.view(caller), isolation.rungs()))
}
