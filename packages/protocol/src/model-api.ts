import type { Endpoint } from './endpoint.ts'

/**
 * The agent API for models, beside chat completions. Third parties define the form of these bodies, so the use cases
 * parse them and no schema here does.
 */
export const modelEndpoints = {
  messages: { method: 'POST', path: '/v1/messages', summary: 'Anthropic-compatible message' },
  countTokens: {
    method: 'POST',
    path: '/v1/messages/count_tokens',
    summary: 'How many tokens a message would have; costs nothing',
  },
  embeddings: { method: 'POST', path: '/v1/embeddings', summary: 'OpenAI-compatible embeddings' },
  model: { method: 'GET', path: '/v1/models/{*id}', summary: 'One model that the caller may use' },
} as const satisfies Record<string, Endpoint>

export const modelApi = { messages: {}, countTokens: {}, embeddings: {}, model: {} } as const
