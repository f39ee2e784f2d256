import type { ProblemKind } from './problem-kind.ts'

/** What a model, or whoever serves it, met; part of the one catalogue. */
export const modelProblems = {
  'prompt-too-long': {
    status: 400,
    title: 'The prompt does not fit into the model',
    retryable: false,
    repair:
      'Send less of the conversation, use a model with a larger context, or set models.*.context in config/settings.json.',
  },
  'history-refused': {
    status: 400,
    title: 'The model provider refuses something in the conversation',
    retryable: false,
    repair:
      'Leave out or rewrite the part that the detail names. An agent does so once by itself; after that, say it in other words, or begin the conversation anew with flotilla reset.',
  },
  'model-call-rejected': {
    status: 400,
    title: 'The model provider rejects what the call says',
    retryable: false,
    repair:
      'Correct what the detail names, in the words of the provider; flotilla models shows what is set for the model.',
  },
  'model-unknown': {
    status: 404,
    title: 'The model provider has no such model',
    retryable: false,
    repair:
      'Check the name with its provider; default_model in config/settings.json or FLOTILLA_DEFAULT_MODEL in .env names the usual one.',
  },
  'surface-not-offered': {
    status: 404,
    title: 'The model gateway does not offer this surface',
    retryable: false,
    repair:
      'Call POST /v1/chat/completions, POST /v1/messages, POST /v1/embeddings or GET /v1/models; what needs another surface cannot go through this gateway.',
  },
  'model-overloaded': {
    status: 529,
    title: 'The model is overloaded',
    retryable: true,
    repair:
      'Try again in some seconds, or name others that may answer in models.*.fallback of config/settings.json.',
  },
  'provider-quota-exhausted': {
    status: 402,
    title: 'The account at the model provider has no credit or quota left',
    retryable: false,
    repair:
      'Add credit or raise the quota where the account is kept, or set another model with flotilla init; flotilla models shows how each does.',
  },
  'provider-refused': {
    status: 502,
    title: 'The model provider refused the call',
    retryable: false,
    repair:
      'Check the key and the model of that provider, in .env and providers of config/settings.json; flotilla models shows how it does.',
  },
  'provider-unreachable': {
    status: 502,
    title: 'The model provider cannot be reached',
    retryable: true,
    repair:
      'Check the address of that provider, in .env or base_url of it in config/settings.json, and the network of the mesh.',
  },
} as const satisfies Record<string, ProblemKind>
