import { constants, createServer } from 'node:http2'
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { createOpenPlaces } from '@flotilla/foundation/intake'
import { boundRequestChunks, tinyChunks } from '@flotilla/identity/http'
import { inspectedRequestHeaders } from '../../egress/index.ts'
import { answerKeptStream, forwardStream, refuseStream } from './forward-stream.ts'
import {
  boundControlFrames,
  closeIfUnused,
  createBurst,
  http2Limits,
  programSessionOptions,
} from './http2-limits.ts'
import { readStreamRequest } from './read-stream-request.ts'
import type { ServeRequest, Session } from './serve-request.ts'
import { shownHost } from './shown-host.ts'

/** The number of requests over HTTP/2 in progress: each may hold two windows of bytes. */
export const streamPlaces = { max: 2024, perAgentMax: 64, floor: 1, reserveMax: 1000 } as const
/** How long a connection without requests stays open, in milliseconds. */
const keepAliveMs = 15_000

/**
 * Serves the streams of programs' HTTP/2 connections: each is a request of its own. The mesh negotiates HTTP/2 only
 * with a server that speaks it too, so that no request is translated to HTTP/1.1 on its way.
 */
export function createServeStreams(deps: {
  readonly serveRequest: ServeRequest
  readonly clock: Clock
  /** How long an answer may wait for a client that does not read it, in milliseconds. */
  readonly stalledStreamMs?: number
}): (client: TLSSocket, session: Session) => void {
  const server = createServer(programSessionOptions)
  const places = createOpenPlaces(streamPlaces)
  const stalledMs = deps.stalledStreamMs ?? http2Limits.stalledStreamMs

  /** Serves one stream; resolves to true if the request was refused. */
  async function serveStream(
    session: Session,
    { stream, raw, hasBody }: { stream: ServerHttp2Stream; raw: readonly string[]; hasBody: boolean },
  ): Promise<boolean> {
    const { destination, identity } = session.connection
    const gone = new AbortController()
    stream.on('error', () => {})
    stream.once('close', () => gone.abort(new Problem('client-gone')))
    if (stream.destroyed) return true
    boundRequestChunks(stream, () => stream.destroy(new Problem('bad-request', { detail: tinyChunks })))
    let isRefused = false
    const leave = places.enter(identity.caller.agentId)
    try {
      await deps.serveRequest(session, {
        read: () => {
          if (typeof leave === 'string') throw tooManyStreams()
          const { method, path, rawHeaders } = readStreamRequest(raw, destination)
          const { headers } = inspectedRequestHeaders({ rawHeaders }, shownHost(destination))
          if (hasBody && stream.sentHeaders === undefined && asksToContinue(rawHeaders))
            stream.additionalHeaders({ ':status': 100 })
          return { method, path, headers, hasBody }
        },
        body: stream,
        signal: AbortSignal.any([session.signal, gone.signal]),
        forward: (request) => forwardStream(session.upstream.send.h2, request, { stream, stalledMs }),
        answerKept: (answer) => answerKeptStream(stream, answer),
        refuse: (refused) => {
          isRefused = true
          refuseStream(stream, refused)
        },
      })
    } finally {
      // The bytes of an answer are held until the client has read them.
      if (typeof leave !== 'string') {
        if (stream.closed) leave()
        else stream.once('close', leave)
      }
    }
    return isRefused
  }

  return (client, session) => {
    if (client.destroyed) return
    server.once('session', (opened: ServerHttp2Session) => {
      const { refusedMax: burst, refusedPerSecond: perSecond } = http2Limits
      const mayBeRefused = createBurst({ burst, perSecond, clock: deps.clock })
      let streams = 0
      opened.on('error', () => {})
      boundControlFrames(opened, deps.clock)
      opened.setLocalWindowSize(http2Limits.connectionWindowBytes)
      closeIfUnused(opened, keepAliveMs, () => streams)
      opened.on(
        'stream',
        (stream: ServerHttp2Stream, ...[, flags, raw]: readonly [unknown, number, string[]]) => {
          streams += 1
          stream.once('close', () => (streams -= 1))
          const hasBody = (flags & constants.NGHTTP2_FLAG_END_STREAM) === 0
          void serveStream(session, { stream, raw, hasBody }).then((isRefused) => {
            if (isRefused && !mayBeRefused() && !opened.destroyed)
              opened.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
          })
        },
      )
    })
    // A session does not notice the end of a connection that stays open in one direction.
    client.allowHalfOpen = false
    server.emit('connection', client)
  }
}

/** Whether the program waits for a sign before it sends the body, which Node answers itself in HTTP/1.1. */
function asksToContinue(raw: readonly string[]): boolean {
  return raw.some((text, at) => at % 2 === 0 && text === 'expect' && raw[at + 1] === '100-continue')
}

function tooManyStreams(): Problem {
  return new Problem('rate-limited', {
    detail: `the agent has ${streamPlaces.perAgentMax} requests over HTTP/2 in progress, or the fleet has the maximum`,
    retryAfterSeconds: 1,
  })
}
