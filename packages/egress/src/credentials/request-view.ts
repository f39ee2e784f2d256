import type { CredentialRequest } from './request-table.ts'

/** Returns a request in the form of the API. Pure. */
export function requestView(request: CredentialRequest) {
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
