import {
  inspectionHumanApi as api,
  inspectionHumanEndpoints as endpoints,
} from '@flotilla/protocol/inspection-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { ManageInspection } from './manage-inspection.ts'

export function inspectionPeopleRoutes({ bind }: PeopleSurface, manage: ManageInspection): void {
  bind(endpoints.inspection, api.inspection, ({ caller }) => manage.view(caller))
  bind(endpoints.inspectHost, api.inspectHost, ({ caller, params }) => manage.inspect(caller, params.host))
  bind(endpoints.releaseHost, api.releaseHost, ({ caller, params }) => manage.release(caller, params.host))
}
