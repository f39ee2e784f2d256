import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { problemContentType, problemJson } from '@flotilla/protocol/problem-json'

/** How long a client may take to read a refusal, in milliseconds. */
const readGraceMs = 1000

/** Returns a refusal before any byte was forwarded: status, headers and a problem as JSON. Pure. */
export function refusalOf(error: unknown, requestId: string) {
  const problem = error instanceof Problem ? error : new Problem('internal-error', { cause: error })
  const body = problemJson(problem, requestId)
  const text = JSON.stringify(body)
  const headers: Record<string, string> = {
    'content-type': problemContentType,
    'content-length': String(Buffer.byteLength(text)),
    'cache-control': 'no-store',
    connection: 'close',
  }
  if (body.status === 407) headers['proxy-authenticate'] = 'Basic realm="flotilla"'
  if (problem.retryAfterSeconds !== undefined) {
    headers['retry-after'] = String(Math.max(1, Math.ceil(problem.retryAfterSeconds)))
  }
  return { code: problem.code, status: body.status, title: body.title, headers, text }
}

/**
 * Answers a client of CONNECT, or one that does not speak HTTP. The title is in the status line, where programs show
 * it.
 */
export function refuseSocket(socket: Duplex, refusal: ReturnType<typeof refusalOf>, clock: Clock): void {
  if (socket.destroyed || !socket.writable) {
    socket.destroy()
    return
  }
  const lines = Object.entries(refusal.headers).map(([name, value]) => `${name}: ${value}`)
  socket.on('error', () => socket.destroy())
  socket.resume()
  socket.end([`HTTP/1.1 ${refusal.status} ${refusal.title}`, ...lines, '', refusal.text].join('\r\n'))
  void clock.sleep(readGraceMs).then(() => socket.destroy())
}

/** Answers a client that used the absolute form. If part of an answer was sent already, disconnects the client. */
export function refuseResponse(response: ServerResponse, refusal: ReturnType<typeof refusalOf>): void {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  response.writeHead(refusal.status, refusal.title, refusal.headers).end(refusal.text)
}
