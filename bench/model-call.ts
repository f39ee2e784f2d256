/** The request that every contender forwards, and the fixed answers of the upstream server. Pure. */

export const modelName = 'gpt-4o-mini'
/** Text in a prompt that makes the fake upstream start an answer without an end. */
export const holdMark = 'hold this call open'
export const streamChunks = 50
const requestBytes = 10 * 1024

/** A request of 10 KB that looks like a chat of several turns. */
export function modelRequest(options: { readonly stream: boolean; readonly model: string }): string {
  const sentence =
    'The quick brown fox jumps over the lazy dog and reads the licence files of its dependencies. '
  const build = (filler: string) =>
    JSON.stringify({
      model: options.model,
      messages: [
        { role: 'system', content: 'You are a careful worker.' },
        { role: 'user', content: filler },
        { role: 'user', content: 'Answer in one sentence.' },
      ],
      max_tokens: 200,
      ...(options.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    })
  const missing = requestBytes - build('').length
  return build(sentence.repeat(Math.ceil(missing / sentence.length)).slice(0, missing))
}

/** The form in which a program calls the model; the fake upstream speaks chat completions alone. */
export type CallForm = 'chat' | 'responses' | 'contents'

/** Returns the same request in this form, its path if it has one of its own, and how the answer ends. Pure. */
export function modelCall(
  form: CallForm,
  options: { readonly stream: boolean; readonly model: string },
): { readonly path?: string; readonly body: string; readonly tail: string } {
  const body = modelRequest(options)
  const { stream, model } = options
  if (form === 'chat') return { body, tail: stream ? 'data: [DONE]' : '}' }
  const { messages } = JSON.parse(body) as { messages: readonly { role: string; content: string }[] }
  const [system, ...said] = messages
  if (form === 'responses') {
    const request = { model, instructions: system?.content, input: said, max_output_tokens: 200, stream }
    return { path: '/v1/responses', body: JSON.stringify(request), tail: stream ? '}}}' : '}' }
  }
  const request = {
    systemInstruction: { parts: [{ text: system?.content }] },
    contents: said.map(({ role, content }) => ({ role, parts: [{ text: content }] })),
    generationConfig: { maxOutputTokens: 200 },
  }
  const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return { path: `/v1beta/models/${model}:${method}`, body: JSON.stringify(request), tail: '"}' }
}

const identity = { id: 'chatcmpl-bench', created: 1_700_000_000, model: modelName }
const usage = { prompt_tokens: 2200, completion_tokens: 60, total_tokens: 2260 }

export const plainReply = JSON.stringify({
  ...identity,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      finish_reason: 'stop',
      message: { role: 'assistant', content: 'All of the licences are permissive but for one. '.repeat(8) },
    },
  ],
  usage,
})

function event(fields: object): string {
  return `data: ${JSON.stringify({ ...identity, object: 'chat.completion.chunk', ...fields })}\n\n`
}

/**
 * Server-sent events: 50 with a piece of text, one with the finish reason, one with the usage, and the end mark.
 */
export function streamEvents(): readonly string[] {
  const pieces = Array.from({ length: streamChunks }, (_, index) =>
    event({
      choices: [{ index: 0, delta: { content: `piece ${index} of the answer ` }, finish_reason: null }],
    }),
  )
  const stop = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
  return [...pieces, stop, event({ choices: [], usage }), 'data: [DONE]\n\n']
}
