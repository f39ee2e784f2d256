import { connect } from 'node:http2'
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2'
import { pipeline } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { boundAnswerChunks } from '@flotilla/identity/http'
import { answerInTinyChunks } from '../../egress/index.ts'
import {
  boundControlFrames,
  closeIfUnused,
  http2Limits,
  serverSessionOptions,
  sizeOfFields,
} from './http2-limits.ts'
import { rawHeaders } from './upstream-request.ts'
import type { SendUpstream, UpstreamAnswer, UpstreamRequest } from './upstream-request.ts'

/** The listeners of one stream for one event; Node warns above this number. */
const listenersMax = 20

export interface Http2Line {
  readonly send: SendUpstream
  close(): void
}

/**
 * The HTTP/2 connection to the server of an inspected host, which carries all streams of one program's connection. It
 * is opened when a request needs it, and again if the server closed it.
 */
export function createHttp2Line(deps: {
  readonly origin: string
  /** Returns a connection that has negotiated HTTP/2. */
  readonly open: () => Promise<TLSSocket>
  readonly clock: Clock
  /** How long an idle connection is kept, in milliseconds. */
  readonly keepAliveMs: number
}): Http2Line {
  let current: Promise<ClientHttp2Session> | null = null
  let streams = 0

  async function openSession(): Promise<ClientHttp2Session> {
    const socket = await deps.open()
    if (socket.destroyed) throw new Error('the server closed the connection')
    // A session does not notice the end of a connection that stays open in one direction.
    socket.allowHalfOpen = false
    const session = connect(deps.origin, { ...serverSessionOptions, createConnection: () => socket })
    session.on('error', () => {})
    boundControlFrames(session, deps.clock)
    session.once('connect', () => session.setLocalWindowSize(http2Limits.connectionWindowBytes))
    closeIfUnused(session, deps.keepAliveMs, () => streams)
    return session
  }

  /** Returns the open session, or opens one; all requests that come meanwhile share it. */
  function session(): Promise<ClientHttp2Session> {
    if (current !== null) return current
    const opening = openSession()
    current = opening
    const forget = () => {
      if (current === opening) current = null
    }
    opening.then((opened) => {
      opened.once('goaway', forget).once('close', forget)
      if (opened.closed) forget()
    }, forget)
    return opening
  }

  return {
    send: async (request) => {
      const opened = await session()
      request.signal.throwIfAborted()
      return exchange(opened, request, (stream) => {
        streams += 1
        stream.once('close', () => (streams -= 1))
      })
    },
    close: () => {
      void current?.then(
        (open) => open.destroy(),
        () => {},
      )
    },
  }
}

async function exchange(
  session: ClientHttp2Session,
  { method, path, headers, body, signal }: UpstreamRequest,
  count: (stream: ClientHttp2Stream) => void,
): Promise<UpstreamAnswer> {
  const stream = session.request([...pseudoHeaders(method, path, headers), 'te', 'trailers'], {
    endStream: body === null,
    signal,
  })
  count(stream)
  stream.setMaxListeners(listenersMax).on('error', () => {})
  boundAnswerChunks(stream, answerInTinyChunks)
  let trailers: readonly string[] = []
  stream.once('trailers', (_headers, _flags, raw: unknown) => {
    trailers = rawHeaders(raw)
    if (sizeOfFields(trailers) > http2Limits.replyHeadersMaxBytes) stream.destroy(tooLarge())
  })
  if (body instanceof Buffer) stream.end(body)
  // The answer says whether the request failed; a server may answer before it has read the whole body.
  else if (body !== null) pipeline(body, stream, () => {})
  const [status, answered] = await answerOf(stream)
  return { status, headers: answered, body: stream, trailers: () => trailers }
}

/** Waits for the headers of the final answer. */
async function answerOf(stream: ClientHttp2Stream): Promise<readonly [number, readonly string[]]> {
  let interim = 0
  return new Promise((resolve, reject) => {
    stream.once('error', reject)
    stream.on('headers', () => {
      interim += 1
      if (interim > http2Limits.interimAnswersMax) stream.destroy(tooLarge())
    })
    stream.once('response', (headers, _flags, raw: unknown) => {
      const answered = rawHeaders(raw)
      if (sizeOfFields(answered) > http2Limits.replyHeadersMaxBytes) stream.destroy(tooLarge())
      else resolve([Number(headers[':status']), withoutPseudo(answered)])
    })
    stream.once('close', () => reject(new Error(`the server reset the stream (${stream.rstCode})`)))
  })
}

/** The headers in the form of HTTP/2: the host is `:authority`, and names are in lower case. */
function pseudoHeaders(method: string, path: string, headers: readonly string[]): string[] {
  const written: string[] = [':method', method, ':scheme', 'https']
  const more: string[] = []
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name = '', value = ''] = [headers[at]?.toLowerCase(), headers[at + 1]]
    if (name === 'host') written.push(':authority', value)
    else more.push(name, value)
  }
  return [...written, ':path', path, ...more]
}

function tooLarge(): Problem {
  return new Problem('upstream-failed', { detail: 'the headers of the answer are too large or too many' })
}

function withoutPseudo(raw: readonly string[]): readonly string[] {
  const kept: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    if (raw[at]?.startsWith(':') === false) kept.push(raw[at] ?? '', raw[at + 1] ?? '')
  }
  return kept
}
