import type { Problem } from '@flotilla/protocol/problem'
import type { ApiFormat } from '../api-format.ts'
import { isRecord } from '../empty-answer.ts'
import { openAiErrorOf, withOpenAiError } from '../openai-error.ts'
import { saysNoResponse } from './empty-response.ts'
import { failureIn } from './response-status.ts'
import { printedEvent } from './response-object.ts'
import { responseUsageFrom } from './response-usage.ts'
import { outputBoundField, readResponsesParameters } from './responses-parameters.ts'
import { responseAsEvents, responsesStream } from './responses-stream.ts'

/** `/v1/responses`. Answers of adapters have this form and are forwarded as the same bytes; errors get OpenAI's body. */
export const responsesFormat: ApiFormat = {
  form: 'responses',
  read: readResponsesParameters,
  hasOutput: true,
  boundField: outputBoundField,
  usageOf: (answer) => responseUsageFrom(answer['usage']),
  saysNothing: saysNoResponse,
  errorIn,
  usageWithCost: null,
  createStreamForm: () => responsesStream,
  wholeAsEvents: responseAsEvents,
  withErrorBody: withOpenAiError,
  errorEvent,
}

/** Returns the error of an event `error`, which has it beside its type, or of a failed response. Pure. */
function errorIn(event: Readonly<Record<string, unknown>>): unknown {
  const { type } = event
  if (type === 'error') return { code: event['code'], message: event['message'] }
  const name = typeof type === 'string' ? type : ''
  const response = event['object'] === 'response' ? event : event['response']
  const words = isRecord(response) ? failureIn(name, response) : null
  return isRecord(response) && words !== null ? (response['error'] ?? { message: words }) : undefined
}

/**
 * Returns the error as two events: OpenAI's client throws at `error`, while others, such as Codex, read only
 * `response.failed`. Pure.
 */
function errorEvent(problem: Problem): Uint8Array {
  const { code, message } = openAiErrorOf(problem)
  const response = { object: 'response', status: 'failed', error: { code, message }, output: [], usage: null }
  return Buffer.from(
    printedEvent('error', { code, message, param: null }) + printedEvent('response.failed', { response }),
  )
}
