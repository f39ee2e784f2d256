import { openLine } from './open-line.ts'
import type { FarEnd } from './open-line.ts'
import { createReplyReader } from './reply-reader.ts'
import type { ReplyHead } from './reply-reader.ts'

/** Receives the answer to one call: exactly one of `onEnd` and `onError`, and nothing after that. */
export interface Answering {
  /** Returns false once the caller has disconnected; then nothing is sent. */
  isWanted(): boolean
  /** Called when the call is about to be sent: from then on the provider may have read the call. */
  onSent(flow: ReplyFlow): void
  onHead(head: ReplyHead): void
  /** A piece of the body, never empty. */
  onData(bytes: Uint8Array): void
  onEnd(): void
  onError(error: Error): void
}

/** The reader's control of an answer. */
export interface ReplyFlow {
  pause(): void
  resume(): void
  /** Ends the connection; `onError` gets this error. */
  abort(error: Error): void
}

export interface ConnectionBounds {
  readonly connectMs: number
  readonly headersMs: number
  readonly bodyIdleMs: number
  /** The time limit from the request to the end of its answer, in milliseconds. */
  readonly answerMs: number
  /** The longest idle time between two calls, milliseconds. */
  readonly idleMs: number
  /** The mesh closes an idle connection this long before the provider's own timeout. */
  readonly idleMarginMs: number
}

/** Carries one call at a time. */
export interface Connection {
  /** Sends a request once the connection is open; if opening fails, nothing was sent. */
  send(bytes: Uint8Array, answering: Answering): void
  /** Called for an abandoned request: ends the connection if it is still being opened for that request. */
  leave(answering: Answering): void
  destroy(): void
}

interface ConnectionOwner {
  /** The connection can carry another call. */
  free(connection: Connection): void
  /** The connection is closed. */
  gone(connection: Connection): void
}

/** The provider was silent for longer than a bound. */
export class SilentTooLong extends Error {
  readonly code = 'ETIMEDOUT'
}

/** The answer of the provider did not end within its bound. */
export class AnswerTooSlow extends Error {
  readonly code = 'ETIMEDOUT'
}

type Phase = 'connecting' | 'head' | 'body' | 'idle'

/** The interval between checks for silence, milliseconds; shorter for a short bound. */
const pollEveryMs = 1000
const checksPerBound = 4

/**
 * One HTTP/1.1 connection, as simple as the model path needs. Bytes that arrive while no call is open close the
 * connection, because the next call could take them for its answer.
 */
export function openConnection(far: FarEnd, bounds: ConnectionBounds, owner: ConnectionOwner): Connection {
  const socket = openLine(far, { taken, open: opened, end: ended, error: close, close: () => close(null) })
  const reader = createReplyReader()
  let phase: Phase = 'connecting'
  let waiting: { readonly bytes: Uint8Array; readonly answering: Answering } | null = null
  let answering: Answering | null = null
  let idleMaxMs = bounds.idleMs
  let isPaused = false
  let isGone = false
  const shortest = Math.min(bounds.connectMs, bounds.headersMs, bounds.bodyIdleMs, bounds.answerMs)
  const everyMs = Math.max(10, Math.min(pollEveryMs, shortest / checksPerBound))
  let silentMs = 0
  /** The elapsed time of the open call since its request, in milliseconds. */
  let waitedMs = 0
  const looking = setInterval(tick, everyMs)
  looking.unref()

  const connection: Connection = {
    send(bytes, next) {
      if (phase === 'connecting') waiting = { bytes, answering: next }
      else start(bytes, next)
    },
    leave(left) {
      if (waiting?.answering === left) close(new Error('the call was abandoned'))
    },
    destroy: () => close(new Error('the mesh closed the connection')),
  }

  const hears = {
    head(head: ReplyHead): void {
      phase = 'body'
      silentMs = 0
      answering?.onHead(head)
    },
    data(bytes: Uint8Array): void {
      answering?.onData(bytes)
    },
    over({
      isKept,
      idleMaxMs: keepAliveMs,
    }: {
      readonly isKept: boolean
      readonly idleMaxMs: number | null
    }): void {
      const ended = answering
      if (ended === null || isGone) return
      answering = null
      phase = 'idle'
      silentMs = 0
      idleMaxMs = Math.min(
        bounds.idleMs,
        keepAliveMs === null ? bounds.idleMs : keepAliveMs - bounds.idleMarginMs,
      )
      goOn()
      // An idle connection must not keep the process alive.
      socket.unref()
      // An answer that ended before the whole request was sent is not complete; do not reuse the connection.
      if (isKept && idleMaxMs > 0 && socket.writableLength === 0) owner.free(connection)
      else close(null)
      ended.onEnd()
    },
  }

  function tick(): void {
    if (answering !== null) {
      waitedMs += everyMs
      // The time of a paused answer counts too, because its reader may never continue.
      if (waitedMs >= bounds.answerMs)
        return close(new AnswerTooSlow(`the answer did not end within ${waitedMs} ms`))
    }
    if (isPaused) return
    silentMs += everyMs
    if (phase === 'idle') {
      if (silentMs >= idleMaxMs) close(null)
    } else if (silentMs >= boundOf(phase, bounds)) {
      close(new SilentTooLong(`the provider sent nothing for ${silentMs} ms`))
    }
  }

  /** Closes the connection and notifies the waiting call once. */
  function close(error: Error | null): void {
    if (isGone) return
    isGone = true
    clearInterval(looking)
    socket.destroy()
    const receiver = answering ?? waiting?.answering
    answering = waiting = null
    owner.gone(connection)
    receiver?.onError(error ?? new Error('the provider closed the connection'))
  }

  function start(bytes: Uint8Array, next: Answering): void {
    silentMs = 0
    if (!next.isWanted()) {
      phase = 'idle'
      owner.free(connection)
      return
    }
    answering = next
    waitedMs = 0
    phase = 'head'
    socket.ref()
    reader.begin(hears)
    next.onSent(flowOf(next))
    // If the client has disconnected during `onSent`, the connection is closed already.
    if (!isGone) socket.write(bytes)
  }

  function taken(bytes: Buffer): void {
    if (isGone) return
    if (phase === 'body') silentMs = 0
    try {
      reader.take(bytes)
    } catch (error) {
      close(error as Error)
    }
  }

  /** Controls one call only: the connection may already carry another call when a method is called. */
  function flowOf(mine: Answering): ReplyFlow {
    return {
      pause() {
        if (mine !== answering) return
        isPaused = true
        socket.pause()
      },
      resume() {
        if (mine === answering) goOn()
      },
      abort(error) {
        if (mine === answering) close(error)
      },
    }
  }

  function goOn(): void {
    if (!isPaused) return
    isPaused = false
    silentMs = 0
    socket.resume()
  }

  function opened(): void {
    const first = waiting
    waiting = null
    if (first !== null) start(first.bytes, first.answering)
  }

  function ended(): void {
    if (isGone) return
    try {
      reader.end()
    } catch (error) {
      close(error as Error)
    }
    close(null)
  }

  return connection
}

function boundOf(phase: Exclude<Phase, 'idle'>, bounds: ConnectionBounds): number {
  if (phase === 'connecting') return bounds.connectMs
  return phase === 'head' ? bounds.headersMs : bounds.bodyIdleMs
}
