import type { Endpoint } from './endpoint.ts'

/**
 * The agent API for models, beside chat completions. Third parties define the form of these bodies, so the use cases
 * parse them and no schema here does.
 */
export const modelEndpoints = {
  messages: {
    method: 'POST',
    path: '/v1/messages',
    summary: 'Call a model in the format of Anthropic’s messages.',
  },
  responses: {
    method: 'POST',
    path: '/v1/responses',
    summary: 'Call a model in the format of OpenAI’s responses, without storing the answer.',
  },
  countTokens: {
    method: 'POST',
    path: '/v1/messages/count_tokens',
    summary: 'Count the tokens of a message, free of charge.',
  },
  embeddings: {
    method: 'POST',
    path: '/v1/embeddings',
    summary: 'Compute embeddings in the format of OpenAI.',
  },
  contents: {
    method: 'POST',
    path: '/v1beta/models/{*call}',
    summary: 'Call a model in Google’s format (generateContent, streamGenerateContent) or count tokens.',
  },
  contentsV1: {
    method: 'POST',
    path: '/v1/models/{*call}',
    summary: 'Call a model in Google’s format, for clients that use version 1.',
  },
  model: { method: 'GET', path: '/v1/models/{*id}', summary: 'Return one model that the caller may use.' },
} as const satisfies Record<string, Endpoint>

export const modelApi = {
  messages: {},
  responses: {},
  countTokens: {},
  embeddings: {},
  contents: {},
  contentsV1: {},
  model: {},
} as const
