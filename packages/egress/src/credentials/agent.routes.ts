import { vaultAgentApi as api, vaultAgentEndpoints as endpoints } from '@flotilla/protocol/vault-api'
import type { AgentSurface } from '@flotilla/identity/http'
import type { CredentialRequests } from './credential-requests.ts'
import type { GenerateSecret, GeneratedSecret } from './generate-secret.ts'
import type { ListUsable } from './list-usable.ts'

export function credentialAgentRoutes(
  { bind }: AgentSurface,
  use: {
    readonly listUsable: ListUsable
    readonly generate: GenerateSecret
    readonly requests: CredentialRequests
  },
): void {
  bind(endpoints.vaultList, api.vaultList, ({ caller }) => ({ credentials: use.listUsable(caller) }))
  bind(endpoints.vaultGenerate, api.vaultGenerate, ({ caller, body, effect }) =>
    effect(body).resumable<GeneratedSecret>((step) => use.generate(caller, body, step)),
  )
  const requested = { ...api.credentialRequest, needs: () => ({ do: 'request-credential' }) as const }
  bind(endpoints.credentialRequest, requested, ({ caller, body, effect }) =>
    effect(body).local(() => {
      const { id, state } = use.requests.request(caller, body)
      return { request_id: id, state }
    }),
  )
}
