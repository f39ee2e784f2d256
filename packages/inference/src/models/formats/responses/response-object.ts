import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'

/** The members of a response that do not depend on its content. */
export interface ResponseHead {
  readonly id: string
  readonly model: string
  readonly createdSeconds: number
}

type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed'

/** What a response says at one point of its life; the defaults are those of an answer that has just begun. */
interface ResponseState {
  readonly status: ResponseStatus
  readonly output?: readonly JsonObject[]
  readonly usage?: JsonObject | null
  /** Why the answer is incomplete. */
  readonly reason?: 'max_output_tokens' | 'content_filter'
}

/** Returns the object `response` of the API, with each member that official clients require. Pure. */
export function responseObject(
  { id, model, createdSeconds }: ResponseHead,
  { status, output = [], usage = null, reason }: ResponseState,
): JsonObject {
  return {
    id,
    object: 'response',
    created_at: createdSeconds,
    status,
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: null,
    max_output_tokens: null,
    metadata: {},
    model,
    output: [...output],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: null,
    store: false,
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    truncation: 'disabled',
    usage,
  }
}

/** Returns a text part of a message. Pure. */
export function outputText(text: string): JsonObject {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

/** Prints one event of a stream. Pure. */
export function printedEvent(type: string, data: Readonly<Record<string, JsonValue>>): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
}
