import type { Dialect } from '../gateway/dialect.ts'
import { saysNothing } from '../gateway/empty-answer.ts'
import { errorEvent, withOpenAiError } from './openai-error.ts'
import { readParameters } from './parameters.ts'
import { chatStream } from '../gateway/pass-stream.ts'
import { usageFrom } from './usage.ts'

/** `/v1/chat/completions`. */
export const chatDialect: Dialect = {
  form: 'chat',
  read: readParameters,
  hasOutput: true,
  usageOf: (answer) => usageFrom(answer['usage']),
  saysNothing,
  usageWithCost: (answer, costUsd) => ({ ...(answer['usage'] as object), cost_usd: costUsd }),
  createStreamForm: () => chatStream,
  wholeAsEvents: (body) => Buffer.concat([Buffer.from('data: '), body, Buffer.from('\n\ndata: [DONE]\n\n')]),
  dress: withOpenAiError,
  errorEvent,
}
