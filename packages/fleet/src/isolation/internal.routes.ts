import {
  meshInternalApi as api,
  meshInternalEndpoints as endpoints,
} from '@flotilla/protocol/mesh-internal-api'
import type { Caller } from '@flotilla/identity/access'
import type { Surface } from '@flotilla/identity/http'
import { isolationView } from './isolation-view.ts'
import type { Isolation } from './watch-isolation.ts'

export function isolationInternalRoutes({ bind }: Surface<Caller>, isolation: Isolation): void {
  bind(endpoints.wallsVerify, api.wallsVerify, async ({ caller }) =>
    isolationView(await isolation.checkAgain(caller), isolation.rungs()),
  )
}
