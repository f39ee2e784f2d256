import { createChunkBound } from '@flotilla/identity/http'
import type { Dispatcher } from 'undici'

/** The status and headers of an answer. */
export interface AnswerHead {
  readonly status: number
  /** Returns the first value of the header with this lower-case name. */
  header(name: string): string | undefined
}

/** Receives the answer to one call: exactly one of `onEnd` and `onError`, and nothing after that. */
export interface Answering {
  /** Returns false once the caller has disconnected; then nothing is sent. */
  isWanted(): boolean
  /** Called when the call is about to be sent: from then on the provider may have read the call. */
  onSent(flow: AnswerFlow): void
  onHead(head: AnswerHead): void
  /** A piece of the body, never empty. */
  onData(bytes: Uint8Array): void
  onEnd(): void
  onError(error: Error): void
}

/** The reader's control of an answer. Has no effect after the end of the answer. */
export interface AnswerFlow {
  pause(): void
  resume(): void
  /** Ends the connection; `onError` gets this error. */
  abort(error: Error): void
}

/** The answer of the provider did not end within its bound. */
export class AnswerTooSlow extends Error {}

/** The answer of the provider breaks a bound of its form. */
export class BrokenAnswer extends Error {}

/** The limit of 1xx responses before the final response. */
const informationalMax = 16

interface ReadAnswer {
  readonly answering: Answering
  /** The limit from the request to the end of the answer, in milliseconds. */
  readonly answerMs: number
  /** Called once, before the end or the error of the answer is reported. */
  readonly over: () => void
}

/** Reads one answer from undici and reports it to its receiver. */
export function answerHandler({ answering, answerMs, over }: ReadAnswer): Dispatcher.DispatchHandler {
  const chunks = createChunkBound('ofAnswer')
  /** Chunks that arrived together: they are reported as one piece, because each piece costs its receiver a write. */
  let together: Buffer[] = []
  let informational = 0
  let isOver = false
  let deadline: NodeJS.Timeout | null = null

  /** Ends the answer if its receiver throws: this also runs as a microtask, where no caller catches. */
  function report(controller: Dispatcher.DispatchController | null): void {
    const pieces = together
    together = []
    if (pieces.length === 0) return
    try {
      answering.onData(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces))
    } catch (error) {
      controller?.abort(error as Error)
    }
  }

  function finish(controller: Dispatcher.DispatchController | null, how: () => void): void {
    if (isOver) return
    report(controller)
    isOver = true
    if (deadline !== null) clearTimeout(deadline)
    over()
    how()
  }

  return {
    onRequestStart(controller) {
      if (!answering.isWanted()) {
        controller.abort(new Error('the call was abandoned'))
        return
      }
      // The time of a paused answer counts too, because its reader may never continue.
      const tooSlow = () =>
        controller.abort(new AnswerTooSlow(`the answer did not end within ${answerMs} ms`))
      deadline = setTimeout(tooSlow, answerMs).unref()
      answering.onSent({
        pause: () => {
          if (!isOver) controller.pause()
        },
        resume: () => {
          if (!isOver) controller.resume()
        },
        abort: (error) => {
          if (!isOver) controller.abort(error)
        },
      })
    },
    onResponseStart(controller, status, headers) {
      if (status < 200) {
        if (++informational > informationalMax) {
          controller.abort(new BrokenAnswer(`more than ${informationalMax} answers of status 1xx came`))
        }
        return
      }
      answering.onHead({
        status,
        header(name) {
          const value = headers[name]
          return Array.isArray(value) ? value[0] : value
        },
      })
    },
    onResponseData(controller, chunk) {
      if (!chunks.takes(chunk.length)) {
        controller.abort(new BrokenAnswer(`the answer comes in tiny chunks: ${chunks.counted()}`))
        return
      }
      if (together.push(chunk) === 1) queueMicrotask(() => report(controller))
    },
    onResponseEnd(controller) {
      finish(controller, () => answering.onEnd())
    },
    onResponseError(controller, error) {
      finish(controller, () => answering.onError(error))
    },
  }
}
