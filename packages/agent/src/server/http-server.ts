import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { agentEndpoints } from '@flotilla/protocol/agent-endpoints'
import type { AgentEndpointName } from '@flotilla/protocol/agent-endpoints'
import { Problem } from '@flotilla/protocol/problem'
import { problemContentType, problemJson } from '@flotilla/protocol/problem-json'
import type { Log } from '@flotilla/protocol/json-log'
import type { Gate } from './gate.ts'
import { createRouter } from './router.ts'

export interface RouteCall {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

/** Resolves to the JSON answer, or to `answered` when the route wrote the response itself. */
export type Route = (call: RouteCall) => Promise<unknown>
export type Routes = Readonly<Record<AgentEndpointName, Route>>
export const answered = Symbol('answered')

const requestTimeoutMs = 120_000
const keepAliveTimeoutMs = 75_000
const connectionsMax = 128

/** Binds the contract's endpoints. Every one but `healthz`, and every unknown path, requires the mesh's proof. */
export function createHttpServer(deps: { routes: Routes; gate: Gate; log: Log }): Server {
  const findRoute = createRouter<AgentEndpointName>(agentEndpoints)
  let requests = 0

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    requests += 1
    const requestId = `req_${requests}`
    try {
      const [path, search] = splitUrl(request.url ?? '/')
      const match = findRoute(request.method ?? 'GET', path)
      if (match?.name !== 'healthz') {
        await deps.gate(request.headers.authorization, { status: match?.name === 'status' })
      }
      if (!match)
        throw new Problem('not-found', { detail: 'This API has no endpoint with this method and path.' })
      const query = new URLSearchParams(search)
      const reply = await deps.routes[match.name]({ request, response, params: match.params, query })
      if (reply !== answered) send(response, 200, reply)
    } catch (error) {
      if (!(error instanceof Problem))
        deps.log.error({ requestId, err: error }, 'internal error in a request; answered with internal-error')
      refuse({ request, response, requestId, error })
    }
  }
  const server = createServer((request, response) => {
    void answer(request, response)
  })
  server.requestTimeout = requestTimeoutMs
  server.keepAliveTimeout = keepAliveTimeoutMs
  server.maxConnections = connectionsMax
  return server
}

function splitUrl(url: string): [string, string] {
  const mark = url.indexOf('?')
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)]
}

function send(response: ServerResponse, status: number, value: unknown): void {
  if (response.destroyed) return
  const body = Buffer.from(JSON.stringify(value))
  const type = status < 400 ? 'application/json' : problemContentType
  response.writeHead(status, { 'content-type': type, 'content-length': body.length })
  response.end(body)
}

function refuse(failed: {
  request: IncomingMessage
  response: ServerResponse
  requestId: string
  error: unknown
}): void {
  const { request, response, error } = failed
  if (response.headersSent) {
    response.destroy()
    return
  }
  const problem = error instanceof Problem ? error : new Problem('internal-error')
  const body = problemJson(problem, failed.requestId)
  if (problem.retryAfterSeconds !== undefined) response.setHeader('retry-after', problem.retryAfterSeconds)
  // The unread rest of a body would be parsed as the next request.
  if (!request.complete) response.setHeader('connection', 'close')
  send(response, body.status, body)
}
