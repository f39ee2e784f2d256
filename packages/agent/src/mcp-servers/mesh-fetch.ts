import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { IncomingMessage } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import { headers as wireHeaders } from '@flotilla/protocol/headers'
import { mcpAgentEndpoints } from '@flotilla/protocol/mcp-api'
import { toolsCalledBy } from '@flotilla/protocol/mcp-messages'
import { Problem } from '@flotilla/protocol/problem'
import type { FetchLike } from '@modelcontextprotocol/client'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { rewriteStream } from './rewrite-stream.ts'
import { withWrittenResult } from './written-messages.ts'

/** How long the mesh may send nothing; the mesh itself ends an exchange before that. */
const silenceMaxMs = 61 * 60_000
/** Longest message of a server that is rewritten, in bytes; the mesh passes no longer one. */
const messageMaxBytes = 8 * 1024 * 1024
const withoutBody: readonly number[] = [101, 204, 205, 304]

/**
 * A `fetch` for one server on the network. The mesh makes the requests: it knows the true address, adds headers and
 * credentials, and removes secrets from the reply. Each request is sent once. Rejects with the mesh's Problem.
 */
export function createMeshFetch(deps: {
  readonly server: string
  /** The server's address as the agent knows it. */
  readonly address: string
  /** The client of the current run; null between two runs. */
  readonly mesh: () => RunMesh | null
  /** True for the older transport, which keeps a stream open; the current one gets status 405 for a stream. */
  readonly listens: boolean
  readonly onProblem: (problem: Problem) => void
}): FetchLike {
  return async (input, init = {}) => {
    const mesh = deps.mesh()
    if (!mesh) throw new Problem('conflict', { detail: 'MCP servers can be called only within a run.' })
    const method = init.method ?? 'GET'
    const headers = Object.fromEntries(new Headers(init.headers))
    if (method === 'GET' && !deps.listens && headers['last-event-id'] === undefined) {
      return new Response(null, { status: 405 })
    }
    const url = String(input)
    const signals = [init.signal, mesh.ended].filter((signal) => signal instanceof AbortSignal)
    try {
      const reply = await mesh.open({
        endpoint: mcpAgentEndpoints.mcpExchange,
        body: {
          server: deps.server,
          url: url === deps.address ? null : url,
          method,
          headers,
          body: typeof init.body === 'string' ? init.body : '',
        },
        timeoutMs: silenceMaxMs,
        // A tool may have been called, so the request is not sent again after an absence of the mesh.
        waitForMesh: false,
        hasEffect: method === 'POST' && mayCallTool(init.body),
        signal: AbortSignal.any(signals),
      })
      return responseOf(reply)
    } catch (error) {
      if (error instanceof Problem) deps.onProblem(error)
      throw error
    }
  }
}

/** True unless the body is known to call no tool, as those that open a session or list tools. */
function mayCallTool(body: unknown): boolean {
  try {
    return toolsCalledBy(typeof body === 'string' ? JSON.parse(body) : null).length > 0
  } catch {
    return true
  }
}

function responseOf(reply: IncomingMessage): Response {
  const header = reply.headers[wireHeaders.farEnd]
  const farEnd: unknown = JSON.parse(Buffer.from(String(header ?? ''), 'base64url').toString('utf8'))
  const status = isJsonObject(farEnd) ? Number(farEnd['status']) : 0
  const headers = isJsonObject(farEnd) && isJsonObject(farEnd['headers']) ? farEnd['headers'] : {}
  const known = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' ? [[name, value]] : [],
  )
  if (withoutBody.includes(status) || status < 200 || status > 599) {
    reply.resume()
    return new Response(null, {
      status: withoutBody.includes(status) && status >= 200 ? status : 502,
      headers: known,
    })
  }
  const type = new Headers(known).get('content-type') ?? ''
  const division = /^text\/event-stream\b/i.test(type) ? 'events' : 'whole'
  const rewriting = rewriteStream(division, messageMaxBytes, withWrittenResult)
  // An error of the reply is an error of the body.
  pipeline(reply, rewriting, () => undefined)
  const body = Readable.toWeb(rewriting) as unknown as ReadableStream<Uint8Array> // node's own type of the same stream
  return new Response(body, { status, headers: known })
}
