import { Problem } from '@flotilla/protocol/problem'
import { createByteStream, pipeBytes } from './byte-stream.ts'
import type { ByteFlow, ByteSink, ByteStream } from './byte-stream.ts'
import type { ProviderReply } from './llm-provider.ts'
import type { Dialect } from './dialect.ts'
import { asProblem } from './openai-error.ts'
import { createEventPasser, freshProgress } from './pass-stream.ts'
import type { OpenCall } from './reply-body.ts'
import type { TokenUsage } from './usage.ts'
import type { SilenceWatch } from './silence-watch.ts'

/** A comment that server-sent event readers skip, so that nobody on the way takes a silent connection for dead. */
const keepAliveComment = Buffer.from(': keep-alive\n\n')

/** A stream that has said its first words, and whose it is. */
export interface SpokenStream {
  readonly reply: ProviderReply
  readonly call: OpenCall
  /** Told to a client that got its headers before anybody knew. */
  readonly signature: string
  /** Hears once that the stream broke off; a stream that has begun is never asked for again. */
  readonly broke: (problem: Problem) => void
}

export interface RelayInput {
  /** Whoever makes it has closed every account when it rejects. */
  readonly spoken: Promise<SpokenStream>
  readonly dialect: Dialect
  /** The client has waited in silence so far. */
  readonly isLate: boolean
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
  const { clientSignal } = input
  const progress = freshProgress()
  let call: OpenCall | null = null

  function settle(): void {
    if (progress.usage === null) call?.account.settleEstimate(progress)
    else call?.account.settle(progress.usage)
  }

  clientSignal.addEventListener('abort', settle, { once: true })
  input.spoken.then(
    (spoken) => {
      call = spoken.call
      if (clientSignal.aborted) settle()
    },
    () => {},
  )
  return createByteStream((sink) => {
    const rules = {
      wantsUsage: input.wantsUsage,
      costUsdOf: (usage: TokenUsage) => call?.costUsdOf(usage) ?? 0,
      onDone: settle,
    }
    const passer = createEventPasser(progress, rules, input.dialect.createStreamForm?.())
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
  let spoken: SpokenStream | null = null
  if (input.isLate) sink.write(keepAliveComment)
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
    const problem = asProblem(error)
    spoken?.broke(problem)
    sink.write(input.dialect.errorEvent(spoken ? asFinal(problem) : problem))
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

  input.spoken.then(
    (stream) => {
      if (isOver) {
        stream.reply.discard()
        return
      }
      spoken = stream
      if (input.isLate) sink.write(Buffer.from(`: ${stream.signature}\n\n`))
      source = pipeBytes(stream.reply.body, inner)
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

/** The client has heard part of it, so nobody but the client may decide to pay for it a second time. */
function asFinal(problem: Problem): Problem {
  return new Problem(problem.code, {
    detail: problem.detail,
    cause: problem.cause,
    extra: { attempts: 1, ...problem.extra },
  })
}
