import type { ProblemKind } from './problem-kind.ts'

/** What a model, or whoever serves it, met; part of the one catalogue. */
export const modelProblems = {
  'prompt-too-long': {
    status: 400,
    title: 'The prompt does not fit into the model',
    retryable: false,
    repair: 'Send less of the conversation, or use a model with a larger context.',
  },
  'model-call-rejected': {
    status: 400,
    title: 'The model provider rejects what the call says',
    retryable: false,
    repair: 'Correct what the detail names, in the words of the provider.',
  },
  'model-unknown': {
    status: 404,
    title: 'The model provider has no such model',
    retryable: false,
    repair: 'Check the name of the model with its provider.',
  },
  'surface-not-offered': {
    status: 404,
    title: 'The model door does not offer this surface',
    retryable: false,
    repair:
      'Call POST /v1/chat/completions, POST /v1/messages, POST /v1/embeddings or GET /v1/models; what needs another surface cannot go through this door.',
  },
  'model-overloaded': {
    status: 529,
    title: 'The model is overloaded',
    retryable: true,
    repair: 'Try again in some seconds, or use another model.',
  },
  'provider-refused': {
    status: 502,
    title: 'The model provider refused the call',
    retryable: false,
    repair: 'Read the detail; check the key and the model of that provider.',
  },
  'provider-unreachable': {
    status: 502,
    title: 'The model provider cannot be reached',
    retryable: true,
    repair: 'Check the base URL and the network of the mesh.',
  },
} as const satisfies Record<string, ProblemKind>
