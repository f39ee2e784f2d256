import type { VaultAgentUseCases } from '../credentials/agent.routes.ts'
import type { CredentialUseCases } from '../credentials/people.routes.ts'
import type { VaultRoom } from './compose-vault.ts'
import type { CredentialRequest } from '../credentials/request-table.ts'

/** The vault in the words of the agent door. */
export function vaultAgentUseCases({ listUsable, generate, requests }: VaultRoom): VaultAgentUseCases {
  return {
    list: (caller) => ({
      credentials: listUsable(caller).map(({ name, handle, hosts }) => ({ name, handle, hosts: [...hosts] })),
    }),
    generate,
    request: (caller, body) => {
      const { id, state } = requests.request(caller, body)
      return { request_id: id, state }
    },
  }
}

/** The vault in the words of the people's door. */
export function credentialUseCases({ manage, requests }: VaultRoom): CredentialUseCases {
  return {
    ...manage,
    requests: (caller) => ({ requests: requests.list(caller).map(viewOf) }),
    deny: (caller, id, reason) => viewOf(requests.deny(caller, id, reason)),
  }
}

function viewOf(request: CredentialRequest) {
  return {
    id: request.id,
    agent_id: request.agentId,
    name: request.name,
    service: request.service,
    description: request.description,
    state: request.state,
    created_at: request.createdAt,
    answered_at: request.answeredAt,
  }
}
