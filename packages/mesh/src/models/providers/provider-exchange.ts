import { Problem } from '@flotilla/protocol/problem'
import { createByteStream } from './byte-stream.ts'
import type { ByteFlow, ByteSink, ByteStream } from './byte-stream.ts'
import type { ProviderReply } from './llm-provider.ts'
import { SilentTooLong } from './provider-connection.ts'
import type { ReplyFlow } from './provider-connection.ts'
import type { ProviderCall, ProviderPool } from './provider-pool.ts'

/** What came before anybody read it; more makes the far end wait, bytes. */
const unreadMaxBytes = 256 * 1024
const readerLeft = new Error('nobody reads the answer any more')

interface Exchange {
  readonly pool: ProviderPool
  readonly host: string
  readonly signal: AbortSignal
  readonly request: ProviderCall
}

/** One request to a provider. Keeps the promises of `llm-provider.ts`. */
export function exchange({ pool, host, signal, request }: Exchange): Promise<ProviderReply> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason)
      return
    }
    let body: ReplyBytes | null = null
    let flow: ReplyFlow | null = null
    let leave: (() => void) | null = null
    const onAbort = () => {
      if (flow) flow.abort(abortReason(signal))
      else leave?.()
      // A request that still waits for a connection is told of no abort.
      reject(signal.reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })

    leave = pool.dispatch(request, {
      isWanted: () => !signal.aborted,
      onSent(begun) {
        flow = begun
      },
      onHead({ status, headers }) {
        body = createReplyBytes(flow)
        resolve({
          status,
          contentType: headers.get('content-type') ?? '',
          retryAfterSeconds: secondsOf(headers.get('retry-after')),
          body: body.stream,
          discard: body.discard,
        })
      },
      onData(bytes) {
        body?.take(bytes)
      },
      onEnd() {
        signal.removeEventListener('abort', onAbort)
        body?.end()
      },
      onError(error) {
        signal.removeEventListener('abort', onAbort)
        const problem = problemOf(error, { signal, host, isSent: flow !== null, isBegun: body !== null })
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
function createReplyBytes(flow: ReplyFlow | null): ReplyBytes {
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
    if (ending === null) flow?.abort(readerLeft)
  }

  function pipe(to: ByteSink): ByteFlow {
    if (sink) throw new Error('a reply is read once')
    sink = to
    const kept = unread
    unread = []
    for (const chunk of kept) if (!isCut) to.write(chunk)
    if (!isCut && ending) ending(to)
    else flow?.resume()
    return { resume: () => flow?.resume(), cut }
  }

  return {
    stream: createByteStream(pipe),
    discard: cut,
    take(chunk) {
      if (isCut) return
      if (sink) {
        if (!sink.write(chunk)) flow?.pause()
        return
      }
      unread.push(chunk)
      unreadBytes += chunk.length
      if (unreadBytes > unreadMaxBytes) flow?.pause()
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
  if (at.isSent && error instanceof SilentTooLong) {
    return new Problem('upstream-timeout', { detail: `${at.host} was silent for too long`, cause: error })
  }
  if (at.isBegun) {
    return new Problem('upstream-failed', { detail: `${at.host} broke off its answer`, cause: error })
  }
  // Nobody can tell whether it was read, and so whether it will be billed.
  if (at.isSent) {
    return new Problem('upstream-failed', { detail: `${at.host} hung up before it answered`, cause: error })
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return new Problem('provider-unreachable', {
    detail: `no answer from ${at.host}${code === '' ? '' : ` (${code})`}`,
    cause: error,
  })
}

/** Dates are not worth a clock here: a provider that names one is asked again at our own pace. */
function secondsOf(value: string | undefined): number | null {
  const seconds = value === undefined ? Number.NaN : Number(value)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : null
}
