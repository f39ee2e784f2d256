import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import { isRecord } from '../empty-answer.ts'
import { parsedData } from '../sse-parser.ts'
import type { StreamForm } from '../sse-parser.ts'
import { printedEvent } from './response-object.ts'
import { responseUsageFrom } from './response-usage.ts'

/** The last event of a stream is one of these. */
const ends = ['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled']

/** Reads the usage from the last event of a stream of the Responses API. All bytes are forwarded unchanged. */
export const responsesStream: StreamForm = {
  // Each last event has the usage, also as null.
  endMark: Buffer.from('"usage"'),
  // Few events name a usage, so that each of them can be parsed; its type is also there without a name of the event.
  isEnd: (data, from, end) => ends.some((one) => one === parsedData(data.subarray(from, end))?.['type']),
  tell(event, progress) {
    const response = parsedData(event)?.['response']
    if (isRecord(response)) progress.usage = responseUsageFrom(response['usage']) ?? progress.usage
    return event
  },
}

/** Converts a whole response to the events of a stream; each item is complete in its first event. Pure. */
export function responseAsEvents(body: Uint8Array): Uint8Array {
  const read = readJsonQuietly(Buffer.from(body).toString('utf8'), jsonLimits.modelAnswer)
  const response: JsonObject = isJsonObject(read) ? read : {}
  const items: readonly JsonValue[] = Array.isArray(response['output']) ? response['output'] : []
  const begun = { ...response, status: 'in_progress', output: [], usage: null }
  const events: (readonly [string, Record<string, JsonValue>])[] = [['response.created', { response: begun }]]
  for (const [index, item] of items.filter(isJsonObject).entries()) {
    events.push(['response.output_item.added', { output_index: index, item }])
    events.push(['response.output_item.done', { output_index: index, item }])
  }
  const { status } = response
  const last = typeof status === 'string' ? `response.${status}` : ''
  events.push([ends.includes(last) ? last : 'response.completed', { response }])
  return Buffer.from(
    events
      .map(([type, data], sequence) => printedEvent(type, { sequence_number: sequence, ...data }))
      .join(''),
  )
}
