import type { ProblemKind } from './problem-kind.ts'

/** Problems of models and their providers; part of the one catalogue. */
export const modelProblems = {
  'prompt-too-long': {
    status: 400,
    title: 'The prompt does not fit into the model’s context window',
    retryable: false,
    repair:
      'Send less of the conversation, use a model with a larger context window, or set models.*.context in config/settings.json.',
  },
  'history-refused': {
    status: 400,
    title: 'The model provider rejected part of the conversation',
    retryable: false,
    repair:
      'Remove or rewrite the part that the detail names. An agent repairs the conversation once automatically; after that, rephrase the message or start a new conversation with flotilla reset.',
  },
  'model-call-rejected': {
    status: 400,
    title: 'The model provider rejected the request',
    retryable: false,
    repair:
      'Correct what the detail names, which quotes the provider; flotilla models shows the settings of the model.',
  },
  'provider-unreadable': {
    status: 502,
    title: 'The answer of the model provider cannot be read',
    retryable: true,
    repair:
      'Try again. If the error persists, check that base_url is the address of the API, and report the detail; flotilla models shows the provider, flotilla runs RUN the run.',
  },
  'model-unknown': {
    status: 404,
    title: 'The model provider does not know this model',
    retryable: false,
    repair:
      'Check the name with its provider; default_model in config/settings.json or FLOTILLA_DEFAULT_MODEL in .env names the default.',
  },
  'surface-not-offered': {
    status: 404,
    title: 'The model gateway does not offer this endpoint',
    retryable: false,
    repair:
      'Call POST /v1/chat/completions, POST /v1/responses, POST /v1/messages, POST /v1beta/models/{*call}, POST /v1/embeddings or GET /v1/models.',
  },
  'model-overloaded': {
    status: 529,
    title: 'The model is overloaded',
    retryable: true,
    repair: 'Retry in a few seconds, or name fallbacks in models.*.fallback of config/settings.json.',
  },
  'provider-quota-exhausted': {
    status: 402,
    title: 'The account at the model provider has no credit or quota left',
    retryable: false,
    repair:
      'Add credit or raise the quota at the provider, or choose another model with flotilla init; flotilla models shows the state of each.',
  },
  'provider-refused': {
    status: 502,
    title: 'The model provider refused the call',
    retryable: false,
    repair:
      'Check the provider’s key and model, in .env and providers of config/settings.json; flotilla models shows its state.',
  },
  'provider-unreachable': {
    status: 502,
    title: 'The model provider cannot be reached',
    retryable: true,
    repair:
      'Check the provider’s address, in .env or base_url in config/settings.json, and the network of the mesh.',
  },
} as const satisfies Record<string, ProblemKind>
