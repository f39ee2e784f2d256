import { anthropicErrorEvent } from './anthropic-error.ts'
import type { ApiFormat } from './api-format.ts'
import { saysNoMessage } from './empty-message.ts'
import { readMessagesParameters } from './messages-parameters.ts'
import { createMessagesStream, messageAsEvents } from './messages-stream.ts'
import { messagesUsageFrom } from './messages-usage.ts'

/** `/v1/messages`. Answers of adapters have this form and are forwarded as the same bytes; errors get their body. */
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
