import { createByteStream, pipeBytes } from './byte-stream.ts'
import type { ByteFlow, ByteSink, ByteStream } from './byte-stream.ts'
import type { ProviderReply } from './llm-provider.ts'
import { asProblem, errorEvent } from './openai-error.ts'
import { createEventPasser, freshProgress } from './pass-stream.ts'
import type { OpenCall } from './reply-body.ts'
import type { SilenceWatch } from './silence-watch.ts'

/** A comment that server-sent event readers skip, so that nobody on the way takes a silent connection for dead. */
const keepAliveComment = Buffer.from(': keep-alive\n\n')

export interface RelayInput {
  readonly reply: Promise<ProviderReply>
  readonly call: OpenCall
  readonly wantsUsage: boolean
  readonly clientSignal: AbortSignal
  readonly silence: SilenceWatch
  /** Called once when nobody reads on: the provider must be cut off. */
  readonly cut: () => void
}

/**
 * An answer as it comes, with comments in its silences. Settles by its usage, or by an estimate when it is cut,
 * whether or not anybody ever reads it. Fails only by the client's own going.
 */
export function relayStream(input: RelayInput): ByteStream {
  const { call, clientSignal } = input
  const progress = freshProgress()

  function settle(): void {
    if (progress.usage === null) call.account.settleEstimate(progress)
    else call.account.settle(progress.usage)
  }

  clientSignal.addEventListener('abort', settle, { once: true })
  return createByteStream((sink) => {
    const passer = createEventPasser(progress, {
      wantsUsage: input.wantsUsage,
      costUsdOf: call.costUsdOf,
      onDone: settle,
    })
    return relay(input, sink, {
      passer,
      settled: () => {
        clientSignal.removeEventListener('abort', settle)
        settle()
      },
    })
  })
}

/** Pieces that come in one go leave in one go: most of what a stream costs is its writes. */
function relay(
  input: RelayInput,
  sink: ByteSink,
  parts: { readonly passer: ReturnType<typeof createEventPasser>; readonly settled: () => void },
): ByteFlow {
  const { passer } = parts
  let gathered: Uint8Array[] = []
  let isOver = false
  let hasRoom = true
  let source: ByteFlow | null = null
  const watched = input.silence.watch(() => sink.write(keepAliveComment))

  function finish(): boolean {
    if (isOver) return false
    isOver = true
    watched.end()
    parts.settled()
    return true
  }

  function pass(bytes: Uint8Array | null): void {
    if (bytes === null) return
    watched.heard()
    hasRoom = sink.write(bytes)
  }

  function flush(): void {
    const pieces = gathered
    const [first] = pieces
    if (isOver || first === undefined) return
    gathered = []
    try {
      pass(passer.take(pieces.length === 1 ? first : Buffer.concat(pieces)))
    } catch (error) {
      fail(error)
    }
  }

  function fail(error: unknown): void {
    if (!finish()) return
    input.cut()
    if (input.clientSignal.aborted) {
      sink.fail(error)
      return
    }
    sink.write(errorEvent(asProblem(error)))
    sink.end()
  }

  const inner: ByteSink = {
    write(bytes) {
      if (gathered.length === 0) queueMicrotask(flush)
      gathered.push(bytes)
      return hasRoom
    },
    end() {
      flush()
      if (isOver) return
      pass(passer.rest())
      finish()
      sink.end()
    },
    fail(error) {
      flush()
      fail(error)
    },
  }

  input.reply.then(
    (reply) => {
      if (isOver) reply.discard()
      else source = pipeBytes(reply.body, inner)
    },
    (error: unknown) => inner.fail(error),
  )
  return {
    resume: () => {
      hasRoom = true
      source?.resume()
    },
    cut: () => {
      if (finish()) input.cut()
    },
  }
}
