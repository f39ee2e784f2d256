import { withChanges } from '@flotilla/protocol/problem'
import type { Problem } from '@flotilla/protocol/problem'
import { createByteStream, pipeBytes } from '../wire/byte-stream.ts'
import type { ByteFlow, ByteSink, ByteStream } from '../wire/byte-stream.ts'
import { spendIn } from '../wire/collect-reply.ts'
import type { ProviderReply } from '../llm-provider.ts'
import type { ApiFormat } from '../formats/api-format.ts'
import { asProblem } from '../formats/openai-error.ts'
import { createSseParser, freshProgress, wholeUsage } from '../formats/sse-parser.ts'
import type { ClientConnection } from './read-on.ts'
import { boundWords } from './reply-body.ts'
import type { OpenCall } from './reply-body.ts'
import type { UnknownCost } from '../../spending/index.ts'
import type { TokenUsage } from '../formats/usage.ts'
import type { KeepAlive, Watched } from './keep-alive.ts'

/** A comment that readers of server-sent events skip; it keeps proxies from closing a silent connection. */
const keepAliveComment = Buffer.from(': keep-alive\n\n')

/** A stream whose first words have arrived, and the call that it belongs to. */
export interface SpokenStream {
  readonly reply: ProviderReply
  readonly call: OpenCall
  /** Header lines about the answering model, for a client that got its headers before the model was known. */
  readonly signature: () => readonly string[]
  /** Starts to watch for silences between the chunks. */
  readonly waiting: () => Watched
  /** Called once if the stream breaks off; a stream that has begun is never retried. */
  readonly broke: (problem: Problem) => void
}

interface RelayInput {
  /** Before this promise rejects, its creator has settled every reservation. */
  readonly spoken: Promise<SpokenStream>
  readonly apiFormat: ApiFormat
  /** Whether the keep-alive interval passed before the first words. */
  readonly isLate: boolean
  readonly wantsUsage: boolean
  /** Gets notified when the client leaves, and decides when to cut the provider off. */
  readonly client: ClientConnection
  readonly keepAlive: KeepAlive
}

/**
 * Relays a streamed answer, with comments during silences. Settles the call by the full usage, or as unconfirmed,
 * even without a client: after the client has left, the rest is read only for its usage. The stream fails only if the
 * client left.
 */
export function relayStream(input: RelayInput): ByteStream {
  const { left } = input.client
  let isPiped = false
  const pipe = (sink: ByteSink): ByteFlow => {
    isPiped = true
    return relay(input, sink)
  }
  const readAlone = () => {
    if (!isPiped) pipe(nobody)
  }
  if (left.aborted) readAlone()
  else left.addEventListener('abort', readAlone, { once: true })
  return createByteStream((sink) => {
    if (!isPiped) return pipe(sink)
    // The client disconnected before the answer was read.
    sink.fail(left.reason)
    return { resume: () => {}, cut: () => {} }
  })
}

const nobody: ByteSink = { write: () => true, end: () => {}, fail: () => {} }

/** Chunks that arrive together are written together, because writes are most of the cost of a stream. */
function relay(input: RelayInput, sink: ByteSink): ByteFlow {
  const { client } = input
  const progress = freshProgress()
  const call = {
    spoken: null as SpokenStream | null,
    source: null as ByteFlow | null,
    waited: null as Watched | null,
  }
  const form = input.apiFormat.createStreamForm?.()
  const parser = createSseParser(
    progress,
    {
      wantsUsage: input.wantsUsage,
      costUsdOf: (usage: TokenUsage) => call.spoken?.call.costUsdOf(usage) ?? 0,
      more: () => boundWords(call.spoken?.call.answerBound),
      onDone: () => settle('no-usage'),
    },
    form,
  )
  const gathered: Uint8Array[] = []
  let isOver = false
  let isRead = true
  let hasRoom = true
  const keepAlive = form?.keepAlive ?? keepAliveComment
  const takesComments = keepAlive === keepAliveComment
  if (input.isLate && !client.left.aborted) sink.write(keepAlive)
  const watched = input.keepAlive.watch(() => sink.write(keepAlive))

  function settle(otherwise: UnknownCost): void {
    const account = call.spoken?.call.account
    const usage = wholeUsage(progress)
    if (usage === null) account?.settleUnconfirmed(client.why() ?? otherwise, progress.usage)
    else account?.settle(usage)
  }

  function finish(otherwise: UnknownCost): boolean {
    if (isOver) return false
    isOver = true
    watched.end()
    call.waited?.end()
    client.left.removeEventListener('abort', readOn)
    client.cut.removeEventListener('abort', cutOff)
    settle(otherwise)
    return true
  }

  /** The client has disconnected, so all further bytes are dropped, and the source is never paused. */
  function readOn(): void {
    if (!isRead) return
    isRead = false
    watched.end()
    call.waited?.end()
    hasRoom = true
    if (client.cut.aborted) cutOff()
    else call.source?.resume()
    sink.fail(client.left.reason)
  }

  function cutOff(): void {
    if (finish('broken-off')) call.source?.cut()
  }

  function pass(bytes: Uint8Array | null): void {
    if (bytes === null || !isRead) return
    watched.progressed()
    call.waited?.progressed()
    hasRoom = sink.write(bytes)
  }

  function flush(): void {
    const pieces = gathered.splice(0)
    if (isOver || pieces.length === 0) return
    try {
      const bytes = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
      pass(spendIn(call.spoken?.call.bounds, () => parser.take(bytes)))
    } catch (error) {
      fail(error)
    }
  }

  function fail(error: unknown): void {
    if (!finish('broken-off')) return
    call.source?.cut()
    if (!isRead) return
    const problem = asProblem(error)
    call.spoken?.broke(problem)
    // A client that has received part of the answer decides whether to pay for a second attempt.
    const final = call.spoken ? withChanges(problem, { extra: { attempts: 1, ...problem.extra } }) : problem
    sink.write(input.apiFormat.errorEvent(final))
    sink.end()
  }

  const inner: ByteSink = {
    write(bytes) {
      if (gathered.length === 0) queueMicrotask(flush)
      gathered.push(bytes)
      if (!isRead) client.countLate(bytes.length)
      return hasRoom
    },
    end() {
      flush()
      if (isOver) return
      // Even if the stream lacks its end event, the model generates nothing more.
      progress.isOver = true
      pass(parser.rest())
      finish('no-usage')
      if (isRead) sink.end()
    },
    fail(error) {
      flush()
      fail(error)
    },
  }

  client.left.addEventListener('abort', readOn, { once: true })
  client.cut.addEventListener('abort', cutOff, { once: true })
  input.spoken.then(
    (stream) => {
      call.spoken = stream
      if (isOver) {
        settle('broken-off')
        stream.reply.discard()
        return
      }
      if (isRead) call.waited = stream.waiting()
      if (input.isLate && isRead && takesComments)
        sink.write(Buffer.from(`: ${stream.signature().join(', ')}\n\n`))
      const bound = stream.call.answerBound
      if (typeof bound === 'number' && isRead) sink.write(boundEvent(bound))
      call.source = pipeBytes(stream.reply.body, inner)
    },
    (error: unknown) => inner.fail(error),
  )
  if (client.left.aborted) readOn()
  return {
    resume: () => {
      hasRoom = true
      call.source?.resume()
    },
    cut: () => {
      if (!isOver) client.clientLeft()
    },
  }
}

/** Tells the client the answer bound before the first words, because the provider may send no usage at the end. */
function boundEvent(bound: number): Uint8Array {
  const chunk = { object: 'chat.completion.chunk', choices: [], ...boundWords(bound) }
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`)
}
