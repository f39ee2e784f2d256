/** What a model answers in one turn, independent of the wire format. */
export interface Turn {
  readonly thought?: { readonly text: string; readonly signature: string }
  readonly text?: string
  readonly call?: { readonly id: string; readonly name: string; readonly input: object }
}

/** Usage of every turn here: 12 prompt tokens, 4 of them cached, and 30 answer tokens, 8 of them thinking. */
export const wireUsage = { prompt: 12, cached: 4, answer: 30, thought: 8 } as const

/** One provider's wire format, as its reference documents it. */
export interface Wire {
  readonly whole: (turn: Turn) => object
  readonly events: (turn: Turn) => readonly object[]
  readonly frame: (event: object) => Buffer
  readonly streamType: string
  /** Encodes an error within a stream that has begun. */
  readonly failure: (message: string) => Buffer
  readonly refusal: (status: number, message: string) => object
}

export function dataLine(event: object): Buffer {
  return Buffer.from(`data: ${JSON.stringify(event)}\n\n`)
}

/** Events of Anthropic and Cohere are named by their type. */
export function namedEvent(event: object): Buffer {
  const type = 'type' in event ? String(event.type) : ''
  return Buffer.from(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`)
}

export function chatCalls({ call }: Turn, id: string): object {
  if (!call) return {}
  const named = { name: call.name, arguments: JSON.stringify(call.input) }
  return { tool_calls: [{ index: 0, id, type: 'function', function: named }] }
}
