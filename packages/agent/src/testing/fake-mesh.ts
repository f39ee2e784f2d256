import { createServer } from 'node:http'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { doorToken } from './agent-process.ts'

export interface MeshRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

/** An answer of the fake; undefined passes the request to the next one. */
export type MeshAnswer = (request: MeshRequest, response: ServerResponse) => unknown

export interface FakeMesh {
  readonly url: string
  readonly port: number
  readonly requests: readonly MeshRequest[]
  close(): Promise<void>
}

/**
 * The agent API as a loopback server for clients with `doorToken`. `answers` are tried in order; a returned
 * value is sent as JSON, a response that an answer ended itself is not touched. The model API is such an
 * answer too: see `modelAnswers`.
 */
export async function startFakeMesh(answers: readonly MeshAnswer[], port = 0): Promise<FakeMesh> {
  const requests: MeshRequest[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const seen = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: text === '' ? null : (JSON.parse(text) as unknown),
      }
      if (request.headers.authorization !== `Bearer ${doorToken}`) {
        sendProblem(response, 401, 'unauthenticated')
        return
      }
      requests.push(seen)
      for (const answer of answers) {
        const reply = answer(seen, response)
        if (response.writableEnded || response.headersSent || response.destroyed) return
        if (reply === undefined) continue
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
        return
      }
      sendProblem(response, 404, 'not-found')
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', resolve)
  })
  const bound = (server.address() as AddressInfo).port
  return {
    url: `http://127.0.0.1:${bound}`,
    port: bound,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export function sendProblem(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'content-type': 'application/problem+json' })
  response.end(JSON.stringify({ type: `urn:flotilla:problem:${code}`, status, code, detail: `fake ${code}` }))
}

export interface ScriptedAnswer {
  readonly text?: string
  readonly calls?: readonly { name: string; arguments: unknown }[]
  readonly finish?: string
}

/** Plays answers in order on the model API as an event stream, and repeats the last. */
export function modelAnswers(script: readonly ScriptedAnswer[]): MeshAnswer {
  let index = 0
  return (request, response) => {
    if (request.path !== meshAgentEndpoints.chatCompletions.path) return undefined
    const answer = script[Math.min(index, script.length - 1)] ?? {}
    index += 1
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const chunk of chunksOf(answer, index)) response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    response.end('data: [DONE]\n\n')
    return undefined
  }
}

function chunksOf(answer: ScriptedAnswer, round: number): unknown[] {
  const calls = (answer.calls ?? []).map((call, index) =>
    delta({
      tool_calls: [
        {
          index,
          id: `call_${round}_${index}`,
          function: {
            name: call.name,
            arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
          },
        },
      ],
    }),
  )
  const finish = answer.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop')
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cost_usd: 0.001 }
  const words = answer.text === undefined ? [] : [delta({ content: answer.text })]
  return [...words, ...calls, delta({}, finish), { choices: [], usage }]
}

function delta(content: unknown, finish: string | null = null): unknown {
  return { choices: [{ index: 0, delta: content, finish_reason: finish }] }
}
