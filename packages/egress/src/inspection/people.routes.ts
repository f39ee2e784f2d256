import {
  inspectionHumanApi as api,
  inspectionHumanEndpoints as endpoints,
} from '@flotilla/protocol/inspection-api'
import { meshInternalApi, meshInternalEndpoints } from '@flotilla/protocol/mesh-internal-api'
import type { Caller } from '@flotilla/identity/access'
import type { PeopleSurface, Surface } from '@flotilla/identity/http'
import type { ManageInspection } from './manage-inspection.ts'

export function inspectionPeopleRoutes({ bind }: PeopleSurface, manage: ManageInspection): void {
  bind(endpoints.inspection, api.inspection, ({ caller }) => manage.view(caller))
  bind(endpoints.inspectHost, api.inspectHost, ({ caller, params }) => manage.inspect(caller, params.host))
  bind(endpoints.releaseHost, api.releaseHost, ({ caller, params }) => manage.release(caller, params.host))
  bind(endpoints.tunnelHost, api.tunnelHost, ({ caller, params }) => manage.tunnel(caller, params.host))
}

/** The route for `doctor`. */
export function inspectionInternalRoutes({ bind }: Surface<Caller>, manage: ManageInspection): void {
  bind(meshInternalEndpoints.egressPinned, meshInternalApi.egressPinned, () => manage.pinned())
}
