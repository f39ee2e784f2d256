import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerStream, answerWhole } from './llm-upstream.ts'
import type { UpstreamCall } from './llm-upstream.ts'
import { wholeBody } from './whole-body.ts'

export interface KeyedProvider {
  readonly baseUrl: string
  /** Chats that the provider answered. */
  readonly asked: string[]
  /** Number of requests, with whatever key. */
  requests(): number
  close(): Promise<void>
}

/**
 * A model server on loopback in OpenAI's format, with a list of its models. With a key it refuses every other key
 * as a large provider does: the error message contains the wrong key.
 */
export async function startKeyedProvider(options: {
  readonly key?: string
  readonly models: readonly string[]
  /** Set where a test needs the usual port of a program. */
  readonly port?: number
}): Promise<KeyedProvider> {
  const asked: string[] = []
  let requests = 0
  const server = createServer((request, response) => {
    requests += 1
    void (async () => {
      const body = await wholeBody(request)
      const given = request.headers.authorization ?? ''
      if (options.key !== undefined && given !== `Bearer ${options.key}`) {
        response.writeHead(401, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ error: { message: `Incorrect API key provided: ${given.slice(7)}` } }))
        return
      }
      if (request.method === 'GET') {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ object: 'list', data: options.models.map((id) => ({ id })) }))
        return
      }
      const parameters = JSON.parse(String(body)) as Record<string, unknown>
      const model = String(parameters['model'])
      if (!options.models.includes(model)) {
        response.writeHead(404, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ error: { message: `The model ${model} does not exist` } }))
        return
      }
      asked.push(model)
      const call: UpstreamCall = {
        path: request.url ?? '',
        headers: request.headers,
        body: parameters,
        text: JSON.stringify(parameters),
        closed: new Promise((resolve) => response.on('close', () => resolve())),
      }
      if (parameters['stream'] === true) answerStream(call, response)
      else answerWhole(response)
    })()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    requests: () => requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
