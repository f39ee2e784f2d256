import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { problemContentType, problemJson } from '@flotilla/protocol/problem-json'

/** How long a client may take to read why it was refused, ms. */
const readGraceMs = 1000

/** A refusal before anything went through: status, headers and a problem as JSON. Pure. */
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

/** To a client of CONNECT, or to one that speaks no HTTP. The title stands in the status line, where programs show it. */
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

/** To a client of the absolute form; one that was already answered in part is cut off. */
export function refuseResponse(response: ServerResponse, refusal: ReturnType<typeof refusalOf>): void {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  response.writeHead(refusal.status, refusal.title, refusal.headers).end(refusal.text)
}
