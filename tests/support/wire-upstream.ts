import type { ServerResponse } from 'node:http'
import { startLlmUpstream } from './llm-upstream.ts'
import type { LlmUpstream, UpstreamCall } from './llm-upstream.ts'
import { wires } from './model-wires.ts'
import type { WireKind } from './model-wires.ts'
import type { Turn, Wire } from './wire-turn.ts'

export const weatherCall = {
  id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6',
  name: 'get_weather',
  input: { city: 'Bern' },
}

/** The answer to the last words of the newest message. */
const turns: Readonly<Record<string, Turn>> = {
  hi: { text: 'Hello there' },
  weather: { text: 'I look.', call: weatherCall },
  think: { thought: { text: 'Two and two.', signature: 'c2lnbmVkLWJ5LW1l' }, text: 'Four' },
  plan: { thought: { text: 'Ask first.', signature: 'c2lnbmVkLWJ5LW1l' }, call: weatherCall },
}

const refusals: Readonly<Record<string, readonly [number, string, Record<string, string>?]>> = {
  'status-400': [400, 'messages: at least one message is required'],
  'status-401': [401, 'invalid key sk-upstream-key-0123456789'],
  'status-404': [404, 'model: nothing-like-this'],
  'status-429': [429, 'too many', { 'retry-after': '3' }],
  'status-500': [500, 'out of order'],
  'status-529': [529, 'Overloaded'],
  'too-long': [400, 'prompt is too long: 214315 tokens > 200000 maximum'],
}

/**
 * A provider on loopback that serves one documented wire format. The newest words of the user decide its answer:
 * `hi`, `weather`, `think`, `plan`, `status-429` and so on; `break` ends a stream in the middle, `overload` sends
 * an error within one, `stop` ends it early, and `wait` never answers. If the conversation ends with a tool result,
 * the answer repeats it.
 */
export async function startWireUpstream(kind: WireKind): Promise<LlmUpstream> {
  const wire = wires[kind]
  const upstream = await startLlmUpstream()
  upstream.answerWith((call, response) => {
    // OpenAI itself has both APIs.
    const isChat = kind === 'responses' && call.path.endsWith('/chat/completions')
    return answer(isChat ? wires.openai : wire, call, response)
  })
  return upstream
}

function answer(wire: Wire, call: UpstreamCall, response: ServerResponse): void {
  if (call.path.endsWith('/count_tokens')) {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ input_tokens: 17 }))
    return
  }
  const said = newestWords(call.body)
  if (said === 'wait') return
  const refusal = refusals[said]
  if (refusal) {
    const [status, message, headers] = refusal
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(wire.refusal(status, message)))
    return
  }
  const turn = turns[said] ?? { text: `It says: ${said}` }
  if (call.body['stream'] !== true && !/stream/i.test(call.path)) {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(wire.whole(turn)))
    return
  }
  response.writeHead(200, { 'content-type': wire.streamType })
  const isCut = ['break', 'overload', 'stop'].includes(said)
  const events = wire.events(isCut ? { text: 'Hello there' } : turn)
  for (const event of isCut ? events.slice(0, Math.min(3, events.length - 1)) : events) {
    response.write(wire.frame(event))
  }
  if (said === 'break') {
    setTimeout(() => response.destroy(), 30)
    return
  }
  if (said === 'stop') {
    response.end()
    return
  }
  if (said === 'overload') response.write(wire.failure('Overloaded'))
  else if (wire === wires.openai || wire === wires.mistral) response.write('data: [DONE]\n\n')
  response.end()
}

/** Returns the last text anywhere in the conversation: its position differs between wire formats. */
function newestWords(body: Record<string, unknown>): string {
  const turnsOf = body['messages'] ?? body['contents'] ?? body['input']
  const last: unknown = Array.isArray(turnsOf) ? turnsOf.at(-1) : null
  return textsIn(last).at(-1) ?? ''
}

function textsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    (key === 'text' || key === 'content') && typeof inner === 'string' ? [inner] : textsIn(inner),
  )
}
