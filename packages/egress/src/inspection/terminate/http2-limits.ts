import { constants } from 'node:http2'
import type { ClientSessionOptions, Http2Session, ServerOptions } from 'node:http2'
import type { Clock } from '@flotilla/protocol/clock'

/** The bounds of one HTTP/2 connection of a program to an inspected host, and of the mesh's connection to its server. */
export const http2Limits = {
  /** How many requests of one connection may be in progress; Node resets further ones. */
  streamsMax: 32,
  /** How many requests beyond `streamsMax` are reset before the connection ends. */
  rejectedStreamsMax: 100,
  /** How many bytes of a body may arrive that have not been passed on, for one stream. */
  windowBytes: 256 * 1024,
  /** The same for all streams of one connection together, in bytes. */
  connectionWindowBytes: 1024 * 1024,
  /** The maximum size of the headers of one request, decompressed, in bytes (RFC 9113, section 6.5.2). */
  requestHeadersMaxBytes: 32 * 1024,
  /** The maximum size of the headers of one answer, decompressed, in bytes. */
  replyHeadersMaxBytes: 64 * 1024,
  /** The maximum number of header fields of one request or answer. */
  headerFieldsMax: 128,
  /** The maximum size of the table of header fields that the other side may fill (RFC 7541), in bytes. */
  headerTableBytes: 4096,
  /** The maximum number of parameters of one SETTINGS frame. */
  settingsPerFrameMax: 16,
  /** How much memory Node may use for one connection, in bytes; new streams are refused above it. */
  sessionMemoryMaxBytes: 8 * 1024 * 1024,
  /** How many invalid frames, such as DATA frames without bytes, are accepted before the connection ends. */
  invalidFramesMax: 100,
  /** How many streams a client may reset at once before the connection ends. */
  resetsMax: 100,
  /** How many streams a second a client may reset after the first ones. */
  resetsPerSecond: 10,
  /** How many PING and SETTINGS frames may arrive at once before the connection ends. */
  controlFramesMax: 100,
  /** How many PING and SETTINGS frames a second may arrive after the first ones. */
  controlFramesPerSecond: 10,
  /** How many requests of one connection may be refused at once before it ends. */
  refusedMax: 50,
  /** How many requests a second may be refused after the first ones. */
  refusedPerSecond: 5,
  /** How many interim answers (1xx) of a server are ignored for one request. */
  interimAnswersMax: 10,
  /** How long an answer may wait for a client that does not read it, in milliseconds. */
  stalledStreamMs: 60_000,
} as const

/** What Node enforces on both sides of an inspected connection. */
const ofBothSides = {
  maxHeaderListPairs: http2Limits.headerFieldsMax,
  maxSettings: http2Limits.settingsPerFrameMax,
  maxSessionMemory: http2Limits.sessionMemoryMaxBytes / 1024 ** 2,
  maxSessionInvalidFrames: http2Limits.invalidFramesMax,
  maxSessionRejectedStreams: http2Limits.rejectedStreamsMax,
} satisfies ClientSessionOptions & ServerOptions

/** The options of a session with a program. */
export const programSessionOptions: ServerOptions = {
  ...ofBothSides,
  streamResetBurst: http2Limits.resetsMax,
  streamResetRate: http2Limits.resetsPerSecond,
  settings: {
    headerTableSize: http2Limits.headerTableBytes,
    initialWindowSize: http2Limits.windowBytes,
    maxConcurrentStreams: http2Limits.streamsMax,
    maxHeaderListSize: http2Limits.requestHeadersMaxBytes,
    // A WebSocket needs HTTP/1.1, where a rule decides it.
    enableConnectProtocol: false,
  },
}

/** The options of a session with the server of an inspected host. */
export const serverSessionOptions: ClientSessionOptions = {
  ...ofBothSides,
  maxReservedRemoteStreams: 0,
  settings: {
    headerTableSize: http2Limits.headerTableBytes,
    initialWindowSize: http2Limits.windowBytes,
    maxHeaderListSize: http2Limits.replyHeadersMaxBytes,
    enablePush: false,
  },
}

/**
 * Returns the size of headers as RFC 9113 counts it. Node applies `maxHeaderListSize` only after the other side has
 * acknowledged it, which it may never do.
 */
export function sizeOfFields(raw: readonly string[]): number {
  return raw.reduce((sum, text) => sum + text.length + 16, 0)
}

/** Ends a session whose other side sends more PING and SETTINGS frames than it needs; each costs an answer. */
export function boundControlFrames(session: Http2Session, clock: Pick<Clock, 'now'>): void {
  const { controlFramesMax: burst, controlFramesPerSecond: perSecond } = http2Limits
  const allowed = createBurst({ burst, perSecond, clock })
  const count = () => {
    if (!allowed() && !session.destroyed) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }
  session.on('ping', count)
  session.on('remoteSettings', count)
}

/** Closes a session that had no request in progress and no traffic for some time, also if it was busy before. */
export function closeIfUnused(session: Http2Session, afterMs: number, streams: () => number): void {
  session.setTimeout(afterMs)
  // A callback of `setTimeout` would be called once, also while a request is in progress.
  session.on('timeout', () => {
    if (streams() === 0) session.close()
  })
}

/** Returns a function that is false for what comes more often than the burst and the rate allow. */
export function createBurst(bounds: {
  readonly burst: number
  readonly perSecond: number
  readonly clock: Pick<Clock, 'now'>
}): () => boolean {
  const { burst, perSecond, clock } = bounds
  let left = burst
  let countedAt = clock.now()
  return () => {
    const now = clock.now()
    left = Math.min(burst, left + (Math.max(0, now - countedAt) / 1000) * perSecond) - 1
    countedAt = now
    if (left >= 0) return true
    left = 0
    return false
  }
}
