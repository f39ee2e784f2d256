import {
  resourceRequestApi as api,
  resourceRequestEndpoints as endpoints,
} from '@flotilla/protocol/resource-requests-api'
import type { AgentSurface } from '@flotilla/identity/http'
import type { RequestPackages } from './request-packages.ts'
import type { RequestSize } from './request-size.ts'

export function requestAgentRoutes(
  { bind }: AgentSurface,
  use: { readonly requestPackages: RequestPackages; readonly requestSize: RequestSize },
): void {
  bind(endpoints.packagesRequest, api.packagesRequest, ({ caller, body, effect }) =>
    effect(body).local(() => {
      const { id, state } = use.requestPackages(caller, body)
      return { request_id: id, state: state === 'choosing' ? ('choosing' as const) : ('asked' as const) }
    }),
  )
  bind(endpoints.sizeRequest, api.sizeRequest, ({ caller, body, effect }) =>
    effect(body).local(() => ({ request_id: use.requestSize(caller, body).id, state: 'asked' as const })),
  )
}
