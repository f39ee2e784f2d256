import { connect } from 'node:net'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerStream, answerWhole, chunkEvent, refuse, startLlmUpstream } from './llm-upstream.ts'
import type { LlmUpstream, UpstreamCall } from './llm-upstream.ts'

type Behavior = (call: UpstreamCall, response: ServerResponse) => void | Promise<void>

const sayHello: Behavior = (call, response) =>
  call.body['stream'] === true ? answerStream(call, response) : answerWhole(response)

/** Behavior of each model of the fake provider, by model name. */
const behaviors: Readonly<Record<string, Behavior>> = {
  hello: sayHello,
  slow: async (call, response) => {
    await Promise.race([sleep(1500), call.closed])
    await sayHello(call, response)
  },
  /** Calls the first tool in the request. */
  tool: (call, response) => callTool(call, response),
  /** Begins an answer and closes the connection. */
  breaks: (_call, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunkEvent({ role: 'assistant', content: 'Hel' }))
    setTimeout(() => response.destroy(), 50)
  },
  /** Answers with a body that is not a valid answer. */
  babbles: (_call, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{"choices": "none", ')
  },
  'status-500': (_call, response) => refuse(response, 500, { message: 'out of order' }),
  'status-429': (_call, response) =>
    refuse(response, 429, { message: 'too many', headers: { 'retry-after': '1' } }),
  'status-401': (_call, response) =>
    refuse(response, 401, { message: 'wrong key sk-upstream-key-0123456789' }),
  'status-404': (_call, response) => refuse(response, 404, { message: 'no such model' }),
}

/** A provider in OpenAI's format on loopback whose models are named after their behavior. */
export async function startFakeUpstream(): Promise<LlmUpstream> {
  const upstream = await startLlmUpstream()
  upstream.answerWith((call, response) => {
    const behavior = behaviors[String(call.body['model'])]
    if (!behavior) throw new Error(`the fake provider has no model ${String(call.body['model'])}`)
    return behavior(call, response)
  })
  return upstream
}

/**
 * Returns a port of this machine that refuses connections. It is below the ephemeral range, so that the kernel gives
 * it to no other program while the test runs.
 */
export async function refusingPort(): Promise<number> {
  for (let port = 21_000; port < 21_100; port++) {
    const refused = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('connect', () => {
        socket.destroy()
        resolve(false)
      })
      socket.once('error', () => resolve(true))
    })
    if (refused) return port
  }
  throw new Error('a hundred ports in a row are open')
}

function callTool(call: UpstreamCall, response: ServerResponse): void {
  const named = { name: 'get_weather', arguments: '{"city":"Bern"}' }
  if (call.body['stream'] !== true) {
    answerWhole(response, {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: named }],
    })
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(chunkEvent({ role: 'assistant', content: null }))
  response.write(chunkEvent({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: named }] }))
  response.write(chunkEvent({}, 'tool_calls'))
  response.end('data: [DONE]\n\n')
}
