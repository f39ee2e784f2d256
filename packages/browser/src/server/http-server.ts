import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  browserActionRequestSchema,
  browserLimits,
  browserServiceEndpoints as endpoints,
  vncQuerySchema,
  captchaAnswerSchema,
  watchModeSchema,
} from '@flotilla/protocol/browser-service-api'
import type {
  BrowserActionReply,
  BrowserActionRequest,
  BrowserPicture,
  BrowserStatus,
  CaptchaAnswer,
  WatchMode,
} from '@flotilla/protocol/browser-service-api'
import type { Log } from '@flotilla/protocol/json-log'
import type { Gate } from './gate.ts'

/** The operations behind the endpoints. */
export interface BrowserOperations {
  status(): Promise<BrowserStatus>
  picture(): Promise<BrowserPicture>
  act(name: string, request: BrowserActionRequest): Promise<BrowserActionReply>
  answerCaptcha(answer: CaptchaAnswer): Promise<boolean>
  setMode(mode: WatchMode): void
  close(): Promise<boolean>
  /** Connects a watcher to the screen. Rejects if no screen can be shown. */
  watch(call: {
    readonly request: IncomingMessage
    readonly socket: Duplex
    readonly head: Buffer
    readonly watcher: WatchMode
  }): Promise<void>
}

const requestTimeoutMs = 180_000
/** How long an idle connection stays open, in milliseconds; the mesh closes idle connections earlier. */
const keepAliveTimeoutMs = 75_000
const connectionsMax = 64
const actionPath = new RegExp(`^${endpoints.act.path.replace('{action}', '([a-z_]{1,40})')}$`)

/** An error response to the caller. */
class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Binds the contract's endpoints. Every request, also to an unknown path, needs the mesh's proof first. */
export function createHttpServer(deps: {
  readonly operations: BrowserOperations
  readonly gate: Gate
  readonly log: Log
}): Server {
  const { operations, gate, log } = deps

  async function answer(request: IncomingMessage): Promise<unknown> {
    const refusal = gate(request.headers.authorization)
    if (refusal !== null) throw new Refusal(401, refusal)
    const path = (request.url ?? '/').split('?')[0] ?? '/'
    const route = `${request.method} ${path}`
    if (route === `GET ${endpoints.status.path}`) return operations.status()
    if (route === `GET ${endpoints.picture.path}`) return operations.picture()
    if (route === `POST ${endpoints.close.path}`) return { closed: await operations.close() }
    if (route === `POST ${endpoints.answerCaptcha.path}`)
      return {
        answered: await operations.answerCaptcha(parsed(captchaAnswerSchema, await readJson(request))),
      }
    if (route === `POST ${endpoints.watchMode.path}`) {
      const { mode } = parsed(watchModeSchema, await readJson(request))
      operations.setMode(mode)
      return { mode }
    }
    const action = request.method === 'POST' ? actionPath.exec(path)?.[1] : undefined
    if (action === undefined) throw new Refusal(404, 'No such endpoint.')
    return operations.act(action, parsed(browserActionRequestSchema, await readJson(request)))
  }

  const server = createServer((request, response) => {
    answer(request).then(
      (value) => send(response, 200, value),
      (error: unknown) => {
        if (error instanceof Refusal) return refuse(request, response, error)
        log.error({ err: error }, 'internal error in a request; answered with 500')
        refuse(request, response, new Refusal(500, 'Internal error of the browser service.'))
      },
    )
  })

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const refusal = gate(request.headers.authorization)
    if (refusal !== null) throw new Refusal(401, refusal)
    const url = new URL(request.url ?? '/', 'http://browser')
    if (url.pathname !== endpoints.vnc.path) throw new Refusal(404, 'No such endpoint.')
    const { watcher } = parsed(vncQuerySchema, Object.fromEntries(url.searchParams))
    await operations.watch({ request, socket, head, watcher })
  }

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    upgrade(request, socket, head).catch((error: unknown) => {
      const status = error instanceof Refusal ? error.status : 503
      if (status === 503) log.warn({ err: error }, 'rejected a viewer: the browser has no screen')
      socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
    })
  })
  server.requestTimeout = requestTimeoutMs
  server.keepAliveTimeout = keepAliveTimeoutMs
  server.maxConnections = connectionsMax
  return server
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const tooLarge = new Refusal(413, `The body may have at most ${browserLimits.bodyMaxBytes} bytes.`)
  if (Number(request.headers['content-length'] ?? 0) > browserLimits.bodyMaxBytes) throw tooLarge
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > browserLimits.bodyMaxBytes) throw tooLarge
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    throw new Refusal(400, 'The body is not JSON.')
  }
}

function parsed<T>(
  schema: {
    safeParse(value: unknown): { success: true; data: T } | { success: false; error: { message: string } }
  },
  value: unknown,
): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new Refusal(400, result.error.message.slice(0, 500))
}

function refuse(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  // Without a close, the unread part of a body would be parsed as the next request.
  if (!request.complete) response.setHeader('connection', 'close')
  send(response, refusal.status, { detail: refusal.message })
}

function send(response: ServerResponse, status: number, value: unknown): void {
  if (response.destroyed) return
  const body = Buffer.from(JSON.stringify(value))
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length })
  response.end(body)
}
