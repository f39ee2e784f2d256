import { controlApi as api, controlEndpoints as endpoints } from '@flotilla/protocol/control-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { Approvals } from './approvals.ts'

export function approvalPeopleRoutes({ bind }: PeopleSurface, approvals: Approvals): void {
  bind(endpoints.pending, api.pending, ({ caller, query: { state, limit } }) => ({
    pending: approvals.list(caller, { open: state === 'open', limit }),
  }))
  bind(endpoints.pendingOne, api.pendingOne, ({ caller, params }) => approvals.read(caller, params.id))
  bind(endpoints.pendingConfirm, api.pendingConfirm, async ({ caller, params, body }) =>
    approvals.view(await approvals.confirm(caller, { ...body, id: params.id })),
  )
  bind(endpoints.pendingCancel, api.pendingCancel, ({ caller, params }) =>
    approvals.view(approvals.cancel(caller, params.id)),
  )
}
