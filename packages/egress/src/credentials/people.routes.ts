import { vaultHumanApi as api, vaultHumanEndpoints as endpoints } from '@flotilla/protocol/vault-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { CredentialRequests } from './credential-requests.ts'
import type { ManageCredentials } from './manage-credentials.ts'
import { requestView } from './request-view.ts'

export function credentialPeopleRoutes(
  { bind }: PeopleSurface,
  { manage, requests }: { readonly manage: ManageCredentials; readonly requests: CredentialRequests },
): void {
  bind(endpoints.credentials, api.credentials, ({ caller }) => manage.list(caller))
  bind(endpoints.credentialSet, api.credentialSet, ({ caller, params: { name }, body }) =>
    manage.set(caller, { name, ...body }),
  )
  bind(endpoints.credentialRemove, api.credentialRemove, ({ caller, params }) =>
    manage.remove(caller, params.name),
  )
  bind(endpoints.credentialBind, api.credentialBind, ({ caller, params: { name }, body }) =>
    manage.bind(caller, { name, ...body }),
  )
  bind(endpoints.credentialUnbind, api.credentialUnbind, ({ caller, params }) =>
    manage.unbind(caller, params.name),
  )
  bind(endpoints.credentialRequests, api.credentialRequests, ({ caller }) => ({
    requests: requests.list(caller).map(requestView),
  }))
  bind(endpoints.credentialRequestDeny, api.credentialRequestDeny, ({ caller, params, body }) =>
    requestView(requests.deny(caller, params.id, body.reason)),
  )
}
