import { Problem } from '@flotilla/protocol/problem'
import type { Dispatcher, Pool } from 'undici'
import { createByteStream } from './byte-stream.ts'
import type { ByteFlow, ByteSink, ByteStream } from './byte-stream.ts'
import type { ProviderReply } from './llm-provider.ts'

/** What came before anybody read it; more makes the far end wait, bytes. */
const unreadMaxBytes = 256 * 1024
const readerLeft = new Error('nobody reads the answer any more')

interface Exchange {
  readonly pool: Pool
  readonly host: string
  readonly signal: AbortSignal
  readonly request: Dispatcher.DispatchOptions
}

/**
 * One request to a provider on undici's bare dispatch: every layer above it costs the model path a tenth of a
 * millisecond. Keeps the promises of `llm-provider.ts`.
 */
export function exchange({ pool, host, signal, request }: Exchange): Promise<ProviderReply> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason)
      return
    }
    let body: ReplyBytes | null = null
    let controller: Dispatcher.DispatchController | null = null
    const onAbort = () => {
      controller?.abort(abortReason(signal))
      // A request that still waits for a connection is told of no abort.
      reject(signal.reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })

    pool.dispatch(request, {
      onRequestStart(started) {
        controller = started
        if (signal.aborted) started.abort(abortReason(signal))
      },
      onResponseStart(started, status, headers) {
        // 1xx: the answer is still to come.
        if (status < 200) return
        body = createReplyBytes(started)
        resolve({
          status,
          contentType: single(headers['content-type']) ?? '',
          retryAfterSeconds: secondsOf(single(headers['retry-after'])),
          body: body.stream,
          discard: body.discard,
        })
      },
      onResponseData(_controller, chunk) {
        // An answer that ends with its connection is told of with nothing in it each time that it is resumed. Pausing
        // for that would go on without end, and without giving the loop to anybody else.
        if (chunk.length > 0) body?.take(chunk)
      },
      onResponseEnd() {
        signal.removeEventListener('abort', onAbort)
        body?.end()
      },
      onResponseError(_controller, error) {
        signal.removeEventListener('abort', onAbort)
        const problem = problemOf(error, {
          signal,
          host,
          isSent: controller !== null,
          isBegun: body !== null,
        })
        if (body) body.fail(problem)
        else reject(problem)
      },
    })
  })
}

function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : readerLeft
}

interface ReplyBytes {
  readonly stream: ByteStream
  readonly discard: () => void
  take(chunk: Uint8Array): void
  end(): void
  fail(error: unknown): void
}

/** Holds what comes until there is a reader, and from then on nothing. */
function createReplyBytes(controller: Dispatcher.DispatchController): ReplyBytes {
  let sink: ByteSink | null = null
  let unread: Uint8Array[] = []
  let unreadBytes = 0
  let isCut = false
  let ending: ((to: ByteSink) => void) | null = null

  function finish(how: (to: ByteSink) => void): void {
    if (isCut || ending) return
    ending = how
    if (sink) how(sink)
  }

  function cut(): void {
    if (isCut) return
    isCut = true
    unread = []
    if (ending === null) controller.abort(readerLeft)
  }

  function pipe(to: ByteSink): ByteFlow {
    if (sink) throw new Error('a reply is read once')
    sink = to
    const kept = unread
    unread = []
    for (const chunk of kept) if (!isCut) to.write(chunk)
    if (!isCut && ending) ending(to)
    else controller.resume()
    return { resume: () => controller.resume(), cut }
  }

  return {
    stream: createByteStream(pipe),
    discard: cut,
    take(chunk) {
      if (isCut) return
      if (sink) {
        if (!sink.write(chunk)) controller.pause()
        return
      }
      unread.push(chunk)
      unreadBytes += chunk.length
      if (unreadBytes > unreadMaxBytes) controller.pause()
    },
    end: () => finish((to) => to.end()),
    fail: (error) => finish((to) => to.fail(error)),
  }
}

function problemOf(
  error: unknown,
  at: { signal: AbortSignal; host: string; isSent: boolean; isBegun: boolean },
): unknown {
  if (at.signal.aborted) return at.signal.reason
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') {
    return new Problem('upstream-timeout', { detail: `${at.host} was silent for too long`, cause: error })
  }
  if (at.isBegun) {
    return new Problem('upstream-failed', { detail: `${at.host} broke off its answer`, cause: error })
  }
  // Nobody can tell whether it was read, and so whether it will be billed.
  if (at.isSent) {
    return new Problem('upstream-failed', { detail: `${at.host} hung up before it answered`, cause: error })
  }
  return new Problem('provider-unreachable', {
    detail: `no answer from ${at.host}${code === '' ? '' : ` (${code})`}`,
    cause: error,
  })
}

function single(value: string | string[] | undefined): string | null {
  return (Array.isArray(value) ? value[0] : value) ?? null
}

/** Dates are not worth a clock here: a provider that names one is asked again at our own pace. */
function secondsOf(value: string | null): number | null {
  const seconds = value === null ? Number.NaN : Number(value)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : null
}
