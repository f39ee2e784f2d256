import { Agent, request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '@flotilla/protocol/clock'
import { fillPath } from '@flotilla/protocol/endpoint'
import type { Endpoint } from '@flotilla/protocol/endpoint'
import { headers } from '@flotilla/protocol/headers'
import { Problem } from '@flotilla/protocol/problem'
import type { Log } from '@flotilla/protocol/json-log'
import { readProblem } from './read-problem.ts'

/** Longest absence of the mesh that a call waits for: enough for a restart or an update. */
export const meshAwayMaxMs = 10 * 60_000
const retryWaitsMs = [250, 500, 1000, 2000, 5000] as const
const replyMaxBytes = 16 * 1024 * 1024
const socketsMax = 16
const defaultTimeoutMs = 30_000

export interface RunTicket {
  readonly runId: string
  readonly fence: number
}

export interface MeshCall {
  readonly endpoint: Endpoint
  readonly ticket: RunTicket
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Required for calls with an effect: a repeated call with this key gets the first answer and has no new effect. */
  readonly idempotencyKey?: string
  /** True for a model call that this client repeats if a limit of the mesh cuts the answer off. */
  readonly asksAgain?: boolean
  /** What a model call is for, if it is not part of the run's conversation. */
  readonly purpose?: 'subagent' | 'aside'
  /** True for a call that has an effect although it has no idempotency key. */
  readonly hasEffect?: boolean
  /** Longest silence of the mesh in one attempt. */
  readonly timeoutMs?: number
  /** False to fail at once if the mesh is away, as for the renewal of the lease, which is repeated anyway. */
  readonly waitForMesh?: boolean
  readonly signal: AbortSignal
}

/**
 * The agent process's only connection to the outside. Rejects with the mesh's own Problem, with `upstream-failed`
 * when the mesh stayed away, `outcome-unknown` if it may have acted before, or with the signal's reason. A call that
 * could not reach the mesh is retried with growing waits, so that the mesh can be restarted under a working agent.
 */
export interface MeshHttp {
  /** Resolves to the answer as JSON, or to null when the answer is empty. */
  call(call: MeshCall): Promise<unknown>
  /** Resolves to the response stream once the status is a success. */
  open(call: MeshCall): Promise<IncomingMessage>
  close(): void
}

export function createMeshHttp(deps: {
  host: string
  port: number
  /** Opens a keyed connection instead of a plain one. */
  dial?: (() => Duplex) | undefined
  doorToken: string
  clock: Clock
  log: Log
}): MeshHttp {
  const agent = new Agent({ keepAlive: true, maxSockets: socketsMax })
  if (deps.dial) agent.createConnection = deps.dial

  const attempt = (call: MeshCall): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const body = call.body === undefined ? null : Buffer.from(JSON.stringify(call.body))
      const sent = httpRequest({
        agent,
        host: deps.host,
        port: deps.port,
        method: call.endpoint.method,
        path: pathOf(call),
        headers: { ...headersOf(call), authorization: `Bearer ${deps.doorToken}`, ...bodyHeaders(body) },
        signal: call.signal,
        timeout: call.timeoutMs ?? defaultTimeoutMs,
      })
      sent.on('timeout', () => sent.destroy(new Error('the mesh did not answer for too long')))
      sent.on('error', reject)
      sent.on('response', resolve)
      sent.end(body ?? undefined)
    })
  /** Makes one attempt. Rejects with an Error if a retry may help, else with a Problem. */
  const once = async <T>(call: MeshCall, read: (reply: IncomingMessage) => Promise<T>): Promise<T> => {
    const reply = await attempt(call)
    const status = reply.statusCode ?? 0
    if (status >= 200 && status < 300) return read(reply)
    const problem = readProblem(status, reply.headers, (await readAll(reply)).toString('utf8'))
    if (problem === null) throw new Error(`the mesh answered ${status}`)
    throw problem
  }
  const persistently = async <T>(
    call: MeshCall,
    read: (reply: IncomingMessage) => Promise<T>,
  ): Promise<T> => {
    const givenUpAt = deps.clock.now() + (call.waitForMesh === false ? 0 : meshAwayMaxMs)
    let mayHaveArrived = false
    for (let tries = 0; ; tries += 1) {
      try {
        return await once(call, read)
      } catch (error) {
        call.signal.throwIfAborted()
        if (error instanceof Problem) throw error
        const waitMs = retryWaitsMs[Math.min(tries, retryWaitsMs.length - 1)]! // the index is inside the list
        mayHaveArrived ||= !neverArrived(error)
        if (deps.clock.now() + waitMs > givenUpAt) throw meshGone(call, mayHaveArrived, error)
        if (tries === 0)
          deps.log.warn(
            { path: call.endpoint.path, retryInMs: waitMs, err: error },
            'failed to reach the mesh; retrying until it answers or the time limit passes',
          )
        await deps.clock.sleep(waitMs, call.signal)
      }
    }
  }
  return {
    call: (call) => persistently(call, async (reply) => parseJson(await readAll(reply))),
    open: (call) => persistently(call, async (reply) => reply),
    close: () => agent.destroy(),
  }
}

/** True if the connection failed before the call was sent, so the call had no effect. */
function neverArrived(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return code === 'ECONNREFUSED' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH'
}

function meshGone(call: MeshCall, mayHaveArrived: boolean, cause: unknown): Problem {
  if (mayHaveArrived && (call.hasEffect ?? call.idempotencyKey !== undefined)) {
    const detail =
      'The mesh received this call and disconnected before it answered, so the effect of the call is unknown.'
    return new Problem('outcome-unknown', { detail, cause })
  }
  return new Problem('upstream-failed', { detail: 'The mesh cannot be reached.', cause })
}

function pathOf(call: MeshCall): string {
  const path = fillPath(call.endpoint.path, call.params ?? {})
  return call.query === undefined ? path : `${path}?${new URLSearchParams(call.query).toString()}`
}

function headersOf(call: MeshCall): Record<string, string> {
  const again = call.asksAgain === true ? { [headers.asksAgain]: '1' } : {}
  const key = call.idempotencyKey === undefined ? {} : { [headers.idempotencyKey]: call.idempotencyKey }
  return {
    [headers.runId]: call.ticket.runId,
    [headers.runFence]: String(call.ticket.fence),
    ...key,
    ...again,
    ...(call.purpose === undefined ? {} : { [headers.callPurpose]: call.purpose }),
  }
}

function bodyHeaders(body: Buffer | null): Record<string, string | number> {
  return body === null ? {} : { 'content-type': 'application/json', 'content-length': body.length }
}

async function readAll(reply: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of reply as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > replyMaxBytes)
      throw new Problem('upstream-failed', { detail: 'The answer of the mesh is too long.' })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function parseJson(body: Buffer): unknown {
  if (body.length === 0) return null
  try {
    return JSON.parse(body.toString('utf8'))
  } catch (cause) {
    throw new Problem('upstream-failed', { detail: 'The answer of the mesh is not JSON.', cause })
  }
}
