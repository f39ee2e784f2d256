import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { wholeBody } from './whole-body.ts'

export interface UpstreamCall {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: Record<string, unknown>
  /** The body exactly as received. */
  readonly text: string
  /** Resolves when the client has disconnected or the answer is complete. */
  readonly closed: Promise<void>
}

export interface LlmUpstream {
  readonly baseUrl: string
  readonly calls: UpstreamCall[]
  /** Sets the answer to all later calls. */
  answerWith(answer: Answer): void
  close(): Promise<void>
}

/** An OpenAI-compatible provider on loopback. By default it answers `Hello there` and reports 10 and 2 tokens. */
export async function startLlmUpstream(): Promise<LlmUpstream> {
  const calls: UpstreamCall[] = []
  let answer = answerAnything

  const server = createServer((request, response) => {
    void serve(request, response)
  })

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await wholeBody(request)
    if (body === null) return
    const call: UpstreamCall = {
      path: request.url ?? '',
      headers: request.headers,
      body: JSON.parse(body.toString()) as Record<string, unknown>,
      text: body.toString(),
      closed: new Promise((resolve) => response.on('close', () => resolve())),
    }
    calls.push(call)
    await answer(call, response)
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    calls,
    answerWith: (next) => {
      answer = next
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

type Answer = (call: UpstreamCall, response: ServerResponse) => void | Promise<void>

const answerAnything: Answer = (call, response) =>
  call.body['stream'] === true ? answerStream(call, response) : answerWhole(response)

export const helloUsage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }

export function answerWhole(
  response: ServerResponse,
  message: object = { role: 'assistant', content: 'Hello there' },
  usage: object = helloUsage,
): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(
    JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage,
    }),
  )
}

export function chunkEvent(
  delta: object,
  finish: string | null = null,
  more: object = { usage: null },
): string {
  const chunk = {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  }
  return `data: ${JSON.stringify(chunk)}\n\n`
}

export function usageEvent(usage: object = helloUsage): string {
  return chunkEvent({}, null, { choices: [], usage })
}

export function answerStream(_call: UpstreamCall, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(chunkEvent({ role: 'assistant', content: '' }))
  response.write(chunkEvent({ content: 'Hello' }))
  response.write(chunkEvent({ content: ' there' }))
  response.write(chunkEvent({}, 'stop'))
  response.write(usageEvent())
  response.end('data: [DONE]\n\n')
}

export function refuse(
  response: ServerResponse,
  status: number,
  more: { readonly message?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...more.headers })
  response.end(JSON.stringify({ error: { message: more.message ?? '' } }))
}
