import { createByteStream } from '../wire/byte-stream.ts'
import type { ByteFlow, ByteSink, ByteStream } from '../wire/byte-stream.ts'
import type { ProviderReply } from '../llm-provider.ts'
import { retryWordsIn } from '../refusals/retry-after.ts'
import { createUnpacker } from '../wire/unpack-body.ts'
import { AnswerTooSlow } from './provider-answer.ts'
import type { AnswerFlow } from './provider-answer.ts'
import type { ProviderCall, ProviderPool } from './provider-pool.ts'
import { Problem } from '@flotilla/protocol/problem'
import { ProxyFailed } from '@flotilla/foundation/platform'
import { errors } from 'undici'

/** The limit of bytes received before the reader starts; above this limit the provider is paused. */
const unreadMaxBytes = 256 * 1024
const readerLeft = new Error('the client is gone')

interface Exchange {
  readonly pool: ProviderPool
  /** How errors call the provider. */
  readonly host: string
  readonly signal: AbortSignal
  readonly request: ProviderCall
}

/** Names a provider in errors as the settings do, with its host. Pure. */
export function calledHost({ host }: URL, name = ''): string {
  return name === '' ? host : `${name} (${host})`
}

/**
 * Sends one request to a provider; the files `*-provider.ts` put the key into its headers. Fulfills the contract of
 * `llm-provider.ts`.
 */
export function exchange({ pool, host, signal, request }: Exchange): Promise<ProviderReply> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason)
      return
    }
    let body: ReplyBytes | null = null
    let flow: AnswerFlow | null = null
    let leave: (() => void) | null = null
    const onAbort = () => {
      if (flow) flow.abort(abortReason(signal))
      else leave?.()
      // A request that still waits for a connection is not notified of an abort.
      reject(signal.reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })

    leave = pool.dispatch(request, {
      isWanted: () => !signal.aborted,
      onSent(begun) {
        flow = begun
      },
      onHead({ status, header }) {
        body = unpacked(createReplyBytes(flow), { flow, contentEncoding: header('content-encoding') })
        resolve({
          status: answerStatus(status),
          contentType: header('content-type') ?? '',
          ...retryWordsIn(header),
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
        const problem = whyBroken(error, { signal, host, isSent: flow !== null, isBegun: body !== null })
        if (body) body.fail(problem)
        else reject(problem)
      },
    })
  })
}

/** Returns 200 for every status of an answer with a body: some gateways answer a POST with 201. */
function answerStatus(status: number): number {
  return status > 200 && status < 300 && status !== 204 && status !== 205 ? 200 : status
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

/** Decompresses a body that is compressed although the mesh did not ask for it. */
function unpacked(
  body: ReplyBytes,
  at: { readonly flow: AnswerFlow | null; readonly contentEncoding: string | undefined },
): ReplyBytes {
  const unpacker = createUnpacker(at.contentEncoding)
  let isBroken = false
  const pass = (work: () => Uint8Array | null): void => {
    if (isBroken) return
    try {
      const plain = work()
      if (plain !== null) body.take(plain)
    } catch (error) {
      isBroken = true
      body.fail(error)
    }
  }
  return {
    ...body,
    take(bytes) {
      pass(() => unpacker.take(bytes))
      if (isBroken) at.flow?.abort(readerLeft)
    },
    end() {
      pass(() => unpacker.end())
      body.end()
    },
  }
}

/** Stores chunks until there is a reader; then passes each on at once. */
function createReplyBytes(flow: AnswerFlow | null): ReplyBytes {
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

/** Whether the provider sent nothing for longer than a bound. */
function isSilence(error: unknown): boolean {
  return error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError
}

/** Returns the caller's error for a failed exchange: a Problem, or the reason of an aborted signal. Pure. */
function whyBroken(
  error: unknown,
  at: { signal: AbortSignal; host: string; isSent: boolean; isBegun: boolean },
): unknown {
  if (at.signal.aborted) return at.signal.reason
  if (at.isSent && isSilence(error)) {
    return new Problem('upstream-timeout', { detail: `${at.host} sent nothing for too long`, cause: error })
  }
  if (error instanceof AnswerTooSlow) {
    return new Problem('upstream-timeout', {
      detail: `${at.host} did not end its answer in time`,
      cause: error,
    })
  }
  if (at.isBegun) {
    return new Problem('upstream-failed', { detail: `${at.host} ended its answer early`, cause: error })
  }
  // It is unknown whether the request was read, and so whether it will be billed.
  if (at.isSent) {
    return new Problem('upstream-failed', {
      detail: `${at.host} closed the connection before it answered`,
      cause: error,
    })
  }
  if (error instanceof ProxyFailed) {
    return new Problem('provider-unreachable', { detail: `${at.host}: ${error.message}`, cause: error })
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return new Problem('provider-unreachable', {
    detail: `no answer from ${at.host}${code === '' ? '' : ` (${code})`}`,
    cause: error,
  })
}
