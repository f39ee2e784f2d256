import type { ServerResponse } from 'node:http'
import { answerWhole, chunkEvent, refuse, startLlmUpstream, usageEvent } from './llm-upstream.ts'
import type { LlmUpstream, UpstreamCall } from './llm-upstream.ts'

interface SaidMessage {
  readonly role: string
  readonly content: string | null
  readonly tool_calls?: readonly { readonly id: string }[]
  readonly tool_call_id?: string
}

export interface ReadingModel {
  readonly baseUrl: string
  /** Every accepted request, as received. */
  readonly taken: {
    readonly messages: readonly SaidMessage[]
    readonly tokens: number
    readonly body: object
  }[]
  refused(): number
  summaries(): number
  close(): Promise<void>
}

/** Bytes of one of this provider's tokens: it counts more tokens than a usual estimate, which must be corrected. */
const bytesPerToken = 3
const secret = /the harbour door is (\w+)/i

/**
 * A provider on loopback that knows only its prompt: it answers from the prompt, searches the agent's disk if the
 * prompt lacks the answer, and refuses prompts that are longer than its window. With `forgets`, its summaries
 * contain nothing useful.
 */
export async function startReadingModel(options: {
  readonly windowTokens: number
  readonly forgets: boolean
}): Promise<ReadingModel> {
  const upstream: LlmUpstream = await startLlmUpstream()
  const taken: { messages: readonly SaidMessage[]; tokens: number; body: object }[] = []
  let refused = 0
  let summaries = 0

  upstream.answerWith((call, response) => {
    const messages = call.body['messages'] as readonly SaidMessage[] // the mesh sends this request
    const tokens = Math.ceil(
      Buffer.byteLength(JSON.stringify([messages, call.body['tools'] ?? []])) / bytesPerToken,
    )
    if (tokens > options.windowTokens) {
      refused += 1
      const message = `This model's maximum context length is ${options.windowTokens} tokens. However, your messages resulted in ${tokens} tokens.`
      refuse(response, 400, { message })
      return
    }
    taken.push({ messages, tokens, body: call.body })
    const first = messages[0]?.content ?? ''
    if (first.startsWith('You condense')) {
      summaries += 1
      speak(call, response, {
        tokens,
        text: options.forgets ? 'They chatted about the sea.' : recall(messages),
      })
    } else if (first.startsWith('You read a part')) {
      const found = secret.exec(messages[1]?.content ?? '')?.[0]
      speak(call, response, { tokens, text: JSON.stringify(found && !options.forgets ? [found] : []) })
    } else reply(call, response, { messages, tokens })
  })
  return {
    baseUrl: upstream.baseUrl,
    taken,
    refused: () => refused,
    summaries: () => summaries,
    close: () => upstream.close(),
  }
}

function recall(messages: readonly SaidMessage[]): string {
  const found = secret.exec(messages[1]?.content ?? '')?.[0]
  return `They chatted about the sea.${found ? ` It was said that ${found}.` : ''}`
}

function reply(
  call: UpstreamCall,
  response: ServerResponse,
  shown: { readonly messages: readonly SaidMessage[]; readonly tokens: number },
): void {
  const { messages, tokens } = shown
  const question = messages.findLast((message) => message.role === 'user')?.content ?? ''
  if (!question.includes('What color is the harbour door?')) {
    speak(call, response, { tokens, text: `Noted, ${question.slice(0, 40)} ... ${'and so on '.repeat(50)}` })
    return
  }
  const color = messages.map(({ content }) => secret.exec(content ?? '')?.[1]).find((found) => found)
  if (color) speak(call, response, { tokens, text: `It is ${color}.` })
  else if (messages.at(-1)?.role === 'tool') speak(call, response, { tokens, text: 'It was never said.' })
  else {
    const command = 'grep -rhoi "the harbour door is [a-z]*" workspace/memory | sort -u'
    const named = { name: 'run_command', arguments: JSON.stringify({ command }) }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunkEvent({ tool_calls: [{ index: 0, id: 'look', type: 'function', function: named }] }))
    response.write(chunkEvent({}, 'tool_calls'))
    response.write(usageEvent({ prompt_tokens: tokens, completion_tokens: 20, total_tokens: tokens + 20 }))
    response.end('data: [DONE]\n\n')
  }
}

function speak(call: UpstreamCall, response: ServerResponse, said: { tokens: number; text: string }): void {
  if (call.body['stream'] !== true) {
    answerWhole(response, { role: 'assistant', content: said.text })
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(chunkEvent({ role: 'assistant', content: said.text }))
  response.write(chunkEvent({}, 'stop'))
  response.write(
    usageEvent({ prompt_tokens: said.tokens, completion_tokens: 200, total_tokens: said.tokens + 200 }),
  )
  response.end('data: [DONE]\n\n')
}
