import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { anthropicPrices, openaiMarkPrices, openaiPrices } from './prompt-prices.ts'
import type { PromptBill } from './prompt-prices.ts'
import { refuseWrongItems, responsesEvents } from './responses-answers.ts'

/** A scripted answer: a command to run, another call, or a text that ends the turn. */
export type ScriptedAnswer =
  | { readonly command: string }
  | { readonly call: string; readonly input: object }
  | { readonly words: string }

export interface CachingProvider {
  readonly port: number
  /** Returns the bills of all requests so far. */
  bills(): readonly PromptBill[]
  /** Returns the bodies of all requests so far. */
  bodies(): readonly Body[]
  /** Sets the answers of the following rounds, in order. */
  script(answers: readonly ScriptedAnswer[]): void
  close(): Promise<void>
}

/**
 * `openai-marks` is OpenAI from GPT-5.6 on, which caches up to marks; `openai-items` is OpenAI's Responses API, beside
 * its chat completions.
 */
export type Wire = 'anthropic' | 'openai' | 'openai-marks' | 'openai-items'

export type Body = Readonly<Record<string, unknown>>

const pricesOf = {
  anthropic: anthropicPrices,
  openai: openaiPrices,
  'openai-marks': openaiMarkPrices,
  'openai-items': openaiPrices,
} as const

/** A provider on loopback that plays a script and bills each prompt according to its cached part. */
export async function startCachingProvider(
  wire: Wire,
  /** Returns the text with which the provider rejects a request, as an older model would; null to accept it. */
  { refuses = () => null }: { readonly refuses?: (body: Body) => string | null } = {},
): Promise<CachingProvider> {
  const prices = pricesOf[wire]()
  const bills: PromptBill[] = []
  const bodies: Body[] = []
  let script: ScriptedAnswer[] = []
  let rounds = 0

  function next(body: Body): ScriptedAnswer {
    // A request outside the conversation has no tools.
    if (!Array.isArray(body['tools'])) return { words: '[]' }
    return script.shift() ?? { words: 'The script is over.' }
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await json(request)) as Body
    bodies.push(body)
    const refusal = refuses(body)
    if (refusal !== null) throw new Error(refusal)
    const hasItems = request.url?.endsWith('/responses') === true
    if (hasItems) refuseWrongItems(body)
    const bill = prices.bill(body)
    bills.push(bill)
    const said = { answer: next(body), round: (rounds += 1), bill }
    const events =
      wire === 'anthropic' ? anthropicEvents(said) : hasItems ? itemEvents(said, body) : openaiEvents(said)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(events.join(''))
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      response.writeHead(400, { 'content-type': 'application/json' })
      const message = error instanceof Error ? error.message : String(error)
      response.end(
        JSON.stringify({
          type: 'error',
          error: { type: 'invalid_request_error', param: pathIn(message), message },
        }),
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    bills: () => bills,
    bodies: () => bodies,
    script: (answers) => {
      script = [...answers]
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** OpenAI names the place of what it refuses. */
function pathIn(message: string): string | null {
  if (/'tool_search'/.test(message)) return 'tools[0].type'
  return /input\[\d\]\.\w+|namespace/.test(message) ? 'input[3].namespace' : null
}

interface Said {
  readonly answer: ScriptedAnswer
  readonly round: number
  readonly bill: PromptBill
}

const outputTokens = 40

function anthropicEvents({ answer, round, bill }: Said): readonly string[] {
  const event = (type: string, fields: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
  const usage = {
    input_tokens: bill.tokens - bill.read - bill.written,
    cache_read_input_tokens: bill.read,
    cache_creation_input_tokens: bill.written,
    output_tokens: 1,
  }
  const message = { id: `msg_${round}`, type: 'message', role: 'assistant', model: 'm', content: [], usage }
  const [block, delta] =
    'words' in answer
      ? [
          { type: 'text', text: '' },
          { type: 'text_delta', text: answer.words },
        ]
      : [
          { type: 'tool_use', id: `toolu_${round}`, name: nameOf(answer), input: {} },
          { type: 'input_json_delta', partial_json: argumentsOf(answer) },
        ]
  const stop = 'words' in answer ? 'end_turn' : 'tool_use'
  return [
    event('message_start', { message }),
    event('content_block_start', { index: 0, content_block: block }),
    event('content_block_delta', { index: 0, delta }),
    event('content_block_stop', { index: 0 }),
    event('message_delta', { delta: { stop_reason: stop }, usage: { output_tokens: outputTokens } }),
    event('message_stop', {}),
  ]
}

function openaiEvents({ answer, round, bill }: Said): readonly string[] {
  const head = { id: `chatcmpl-${round}`, object: 'chat.completion.chunk', created: 1, model: 'm' }
  const event = (fields: object) => `data: ${JSON.stringify({ ...head, ...fields })}\n\n`
  const choice = (delta: object, finish: string | null) =>
    event({ choices: [{ index: 0, delta, finish_reason: finish }] })
  const usage = {
    prompt_tokens: bill.tokens,
    completion_tokens: outputTokens,
    total_tokens: bill.tokens + outputTokens,
    prompt_tokens_details: { cached_tokens: bill.read, cache_write_tokens: bill.written },
  }
  const said =
    'words' in answer
      ? { content: answer.words }
      : {
          tool_calls: [
            {
              index: 0,
              id: `call_${round}`,
              type: 'function',
              function: { name: nameOf(answer), arguments: argumentsOf(answer) },
            },
          ],
        }
  return [
    choice({ role: 'assistant', ...said }, null),
    choice({}, 'words' in answer ? 'stop' : 'tool_calls'),
    event({ choices: [], usage }),
    'data: [DONE]\n\n',
  ]
}

function itemEvents({ answer, round, bill }: Said, body: Body): readonly string[] {
  const usage = {
    input_tokens: bill.tokens,
    input_tokens_details: { cached_tokens: bill.read, cache_write_tokens: bill.written },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: bill.tokens + outputTokens,
  }
  const said =
    'words' in answer
      ? answer
      : { name: nameOf(answer), input: JSON.parse(argumentsOf(answer)) as unknown, id: `call_${round}` }
  return responsesEvents(said, { body, usage, id: `resp_${round}` })
}

type ScriptedCall = Exclude<ScriptedAnswer, { readonly words: string }>

function nameOf(answer: ScriptedCall): string {
  return 'call' in answer ? answer.call : 'run_command'
}

function argumentsOf(answer: ScriptedCall): string {
  return JSON.stringify('call' in answer ? answer.input : { command: answer.command, timeout_s: 60 })
}
