import type { ApiFormat } from './api-format.ts'
import { readEmbeddingsParameters } from './embeddings-parameters.ts'
import { errorEvent, withOpenAiError } from './openai-error.ts'
import { usageFrom } from './usage.ts'

/** `/v1/embeddings`. Its answers, maybe megabytes of numbers, are forwarded as the same bytes. */
export const embeddingsFormat: ApiFormat = {
  form: 'embeddings',
  read: readEmbeddingsParameters,
  hasOutput: false,
  usageOf: (answer) => usageFrom(answer['usage']),
  saysNothing: (value) => Array.isArray(value['data']) && value['data'].length === 0,
  usageWithCost: null,
  createStreamForm: null,
  wholeAsEvents: (body) => body,
  withErrorBody: withOpenAiError,
  errorEvent,
}
