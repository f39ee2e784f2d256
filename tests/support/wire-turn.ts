/** What a model says in one turn, whatever wire it is said on. */
export interface Turn {
  readonly thought?: { readonly text: string; readonly signature: string }
  readonly text?: string
  readonly call?: { readonly id: string; readonly name: string; readonly input: object }
}

/** What every turn here costs: 12 tokens of prompt, 4 of them from the cache, and 30 of answer, 8 of them thought. */
export const wireUsage = { prompt: 12, cached: 4, answer: 30, thought: 8 } as const

/** One provider's wire, as its reference documents it. */
export interface Wire {
  readonly whole: (turn: Turn) => object
  readonly events: (turn: Turn) => readonly object[]
  readonly frame: (event: object) => Buffer
  readonly streamType: string
  /** A failure within a stream that has begun. */
  readonly failure: (message: string) => Buffer
  readonly refusal: (status: number, message: string) => object
}

export function dataLine(event: object): Buffer {
  return Buffer.from(`data: ${JSON.stringify(event)}\n\n`)
}

/** Events of Anthropic's and Cohere's are named by their type. */
export function namedEvent(event: object): Buffer {
  const type = 'type' in event ? String(event.type) : ''
  return Buffer.from(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`)
}

export function chatCalls({ call }: Turn, id: string): object {
  if (!call) return {}
  const named = { name: call.name, arguments: JSON.stringify(call.input) }
  return { tool_calls: [{ index: 0, id, type: 'function', function: named }] }
}
