/** One oddity of a provider, with what the mesh, an agent and the official clients make of it. */
export interface Oddity {
  readonly what: string
  /** Where users or maintainers report it: a documentation page, or a repository and the subject of a thread. */
  readonly source: string
  /** The body of the answer as the provider writes it, with status 200. */
  readonly wire: string | Uint8Array
  /** Omitted if it is the usual content type of the wire format. */
  readonly contentType?: string
  readonly contentEncoding?: string
  /**
   * `agentCode`: the error code of the run, where the gateway knows more about the error or the agent loop retries.
   */
  readonly normal:
    | NormalAnswer
    | { readonly problem: string; readonly says?: string; readonly agentCode?: string }
  /**
   * What OpenAI's client receives through the gateway, if that differs from the provider's own bytes, which its
   * programs parse themselves.
   */
  readonly openAiClient?: 'the normal form' | 'an error'
  /**
   * A stream cannot revoke text that turns out to be thinking, so a client of the Messages API keeps it as text.
   */
  readonly anthropicClient?: 'sees the thinking as words'
}

export interface NormalAnswer {
  readonly text?: string
  readonly thought?: string
  /** Name and arguments, as text. */
  readonly calls?: readonly (readonly [string, string])[]
  readonly end?: 'stop' | 'length' | 'tool_calls' | 'content_filter'
  /** Prompt and answer tokens; omitted if the reported values cannot be believed. */
  readonly usage?: readonly [number, number]
}

/** The answer of most rows: a text, one call, or two calls. */
export const plain = { text: 'Hello', end: 'stop' } as const
export const one = { calls: [['look', '{"at":"a"}']], end: 'tool_calls' } as const
export const two = { calls: [...one.calls, ['look', '{"at":"b"}']], end: 'tool_calls' } as const

export const done = 'data: [DONE]\n\n'

export function data(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

export function choice(delta: unknown, finish: unknown = null): object {
  return { id: 'c1', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] }
}

export function chunk(delta: unknown, finish: unknown = null): string {
  return data(choice(delta, finish))
}

export function call(piece: object, finish: unknown = null): string {
  return chunk({ tool_calls: [piece] }, finish)
}

export function whole(message: unknown, finish: unknown = 'stop', more: object = {}): string {
  return JSON.stringify({
    id: 'c1',
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: finish }],
    ...more,
  })
}

export const hello = chunk({ role: 'assistant', content: 'Hello' })
export const end = chunk({}, 'stop')
export const endOfCalls = chunk({}, 'tool_calls')
