import { anthropicErrorEvent } from './anthropic-error.ts'
import type { ApiFormat } from './api-format.ts'
import { saysNoMessage } from './empty-message.ts'
import { readMessagesParameters } from './messages-parameters.ts'
import { createMessagesStream, messageAsEvents } from './messages-stream.ts'
import { messagesUsageFrom } from './messages-usage.ts'

/** `/v1/messages`. Its answers go on as the same bytes; the gateway writes its refusals. */
export const messagesFormat: ApiFormat = {
  form: 'messages',
  read: readMessagesParameters,
  hasOutput: true,
  usageOf: (answer) => messagesUsageFrom(answer['usage']),
  saysNothing: saysNoMessage,
  usageWithCost: null,
  createStreamForm: createMessagesStream,
  wholeAsEvents: messageAsEvents,
  withErrorBody: (problem) => problem,
  errorEvent: anthropicErrorEvent,
}
