import { headers } from '@flotilla/protocol/headers'
import { createByteStream } from '../wire/byte-stream.ts'
import type { ByteStream } from '../wire/byte-stream.ts'
import type { ApiFormat } from '../formats/api-format.ts'
import type { CatalogModel } from '../catalog/model-catalog.ts'
import type { ProviderReply } from '../llm-provider.ts'
import { failureFromError } from './provider-failure.ts'
import { relayStream } from './relay-stream.ts'
import type { SpokenStream } from './relay-stream.ts'
import type { ClientConnection } from './read-on.ts'
import type { OpenCall } from './reply-body.ts'
import type { KeepAlive } from './keep-alive.ts'
import type { CallWaits } from './report-waits.ts'
import type { ModelWatch } from './watch-models.ts'

/** The reply to copy to the client unchanged. */
export interface CompletionReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** A stream must be read to its end or be aborted by the signal. */
  readonly body: Uint8Array | ByteStream
}

interface WholeReply extends CompletionReply {
  readonly body: Uint8Array
}

/** An answer that may be forwarded: a whole answer, or a stream whose first words have arrived. */
export type Received =
  | { readonly whole: WholeReply }
  | { readonly reply: ProviderReply; readonly call: OpenCall }

/** An answer, the model that gave it, and the number of attempts. */
export interface Answer {
  readonly answer: Received
  readonly model: CatalogModel
  readonly attempts: number
  /** When the successful attempt was sent, for later reports about the model's health. */
  readonly askedAt: number
}

/** Returns a whole answer, with headers that name the model that gave it. */
export function wholeAnswer({ answer, ...by }: Answer): CompletionReply {
  if ('reply' in answer) throw new Error('a call that is not streamed has no stream')
  return { ...answer.whole, headers: { ...answer.whole.headers, ...answeredBy(by) } }
}

interface Streaming {
  readonly agentId: string
  readonly keepAlive: KeepAlive
  readonly watch: ModelWatch
  readonly apiFormat: ApiFormat
  readonly answered: Promise<Answer>
  readonly wantsUsage: boolean
  readonly client: ClientConnection
  readonly waits: CallWaits
}

/** Opens a stream at its first words or after the keep-alive interval, whichever comes first. */
export async function streamedAnswer(streaming: Streaming): Promise<CompletionReply> {
  const { answered, keepAlive, apiFormat, client, wantsUsage } = streaming
  const spoken = answered.then((answer) => spokenStream(streaming, answer))
  spoken.catch(() => {})
  const first = await firstOf(answered, keepAlive)
  if (first !== null && 'whole' in first.answer) return wholeAnswer(first)
  return {
    status: 200,
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      ...(first === null ? {} : answeredBy(first)),
    },
    body: relayStream({ spoken, isLate: first === null, wantsUsage, client, keepAlive, apiFormat }),
  }
}

function spokenStream(
  { agentId, watch, apiFormat, client, waits }: Streaming,
  answered: Answer,
): SpokenStream {
  const { answer, model, askedAt } = answered
  return {
    signature: () => Object.entries(answeredBy(answered)).map(([name, value]) => `${name}: ${value}`),
    waiting: () => waits.asking(model),
    broke: (problem) => {
      const failure = failureFromError(problem, model)
      if (failure) watch.failed(model, failure, { agentId, at: askedAt })
    },
    ...('whole' in answer ? asStream(answer.whole, { apiFormat, client }) : answer),
  }
}

function answeredBy({ model, attempts }: Pick<Answer, 'model' | 'attempts'>): Record<string, string> {
  return { [headers.answeringModel]: visible(model.id), [headers.attempts]: `${attempts}` }
}

/** Encodes a model name with characters that a header may not contain. */
function visible(name: string): string {
  return /^[\x21-\x7e]+$/.test(name) ? name : encodeURIComponent(name)
}

/**
 * Converts a whole answer to a stream, if the provider was asked for one and the client's stream has begun
 * already.
 */
function asStream(
  whole: WholeReply,
  { apiFormat, client }: { readonly apiFormat: ApiFormat; readonly client: ClientConnection },
): Pick<SpokenStream, 'reply' | 'call'> {
  const body = createByteStream((sink) => {
    sink.write(apiFormat.wholeAsEvents(whole.body))
    sink.end()
    return { resume: () => {}, cut: () => {} }
  })
  const head = { status: 200, contentType: 'text/event-stream', retryAfterSeconds: null }
  return { reply: { ...head, body, discard: () => {} }, call: { ...paidCall, client } }
}

/** Used in place of the call of a whole answer, which is settled already; its methods do nothing. */
const paidCall: Omit<OpenCall, 'client'> = {
  account: { settle: () => {}, settleUnconfirmed: () => {}, refund: () => {}, isClosed: () => true },
  costUsdOf: () => 0,
}

/** Returns the answer, or null if the keep-alive interval passes first, so that the client needs a sign of life. */
async function firstOf(answered: Promise<Answer>, keepAlive: KeepAlive): Promise<Answer | null> {
  const silence = Promise.withResolvers<null>()
  const watched = keepAlive.watch(() => silence.resolve(null))
  try {
    return await Promise.race([answered, silence.promise])
  } finally {
    watched.end()
  }
}
