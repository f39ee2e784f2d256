import type { ApiFormat } from './api-format.ts'
import { saysNothing } from './empty-answer.ts'
import { errorEvent, withOpenAiError } from './openai-error.ts'
import { readParameters } from './parameters.ts'
import { chatStream } from './sse-parser.ts'
import { usageFrom } from './usage.ts'

/** `/v1/chat/completions`. */
export const chatFormat: ApiFormat = {
  form: 'chat',
  read: readParameters,
  hasOutput: true,
  usageOf: (answer) => usageFrom(answer['usage']),
  saysNothing,
  usageWithCost: (answer, costUsd) => ({ ...(answer['usage'] as object), cost_usd: costUsd }),
  createStreamForm: () => chatStream,
  wholeAsEvents: (body) => Buffer.concat([Buffer.from('data: '), body, Buffer.from('\n\ndata: [DONE]\n\n')]),
  withErrorBody: withOpenAiError,
  errorEvent,
}
