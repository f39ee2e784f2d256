import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import type { Secret } from '@flotilla/egress/credentials'
import { createByteStream, pipeBytes } from '../wire/byte-stream.ts'
import type { ByteFlow, ByteSink, ByteStream } from '../wire/byte-stream.ts'
import type { CallAccount } from './call-account.ts'
import { refusalInBody } from './provider-problem.ts'
import type { RefusedBy } from './provider-problem.ts'
import { withErrorOf } from '../formats/api-format.ts'
import type { ApiFormat } from '../formats/api-format.ts'
import { emptyAnswer, isRecord } from '../formats/empty-answer.ts'
import type { ProviderReply } from '../llm-provider.ts'
import { createFirstWords } from '../formats/first-words.ts'
import { createSseParser, dataOf, freshProgress, wholeUsage } from '../formats/sse-parser.ts'
import type { ClientConnection } from './read-on.ts'

/** A stream without content in this many bytes is forwarded unchanged. */
const silentMaxBytes = 64 * 1024

/**
 * Resolves with the same reply, no byte lost, once its stream contains content. Until then the client has received
 * nothing, so another model can still answer. Rejects with the Problem `model-failed` for a stream that ends without
 * content, with the provider's refusal for a stream that contains an error, or with the error of the reply. Before it
 * rejects, it charges the reported usage, or else the whole reservation.
 */
export async function awaitFirstToken(reply: ProviderReply, of: Told): Promise<ProviderReply> {
  const held: Uint8Array[] = []
  try {
    return { ...reply, body: await holdUntilSpoken(reply, held, of) }
  } catch (error) {
    settleByWhatCame(held, of)
    reply.discard()
    throw error
  }
}

interface Told {
  readonly account: CallAccount
  readonly client: ClientConnection
  readonly apiFormat: ApiFormat
  readonly secrets: readonly Secret[]
  /** The answering provider, named in the detail of a refusal. */
  readonly model?: Pick<RefusedBy, 'provider' | 'baseUrl'>
}

/** Reads and stores the stream until its first content; then the reader of the returned stream sets the pace. */
function holdUntilSpoken(reply: ProviderReply, held: Uint8Array[], of: Told): Promise<ByteStream> {
  return new Promise((resolve, reject) => {
    const listener = createFirstWords((event) => isContent(event, of))
    let reader: ByteSink | null = null
    let flow: ByteFlow | null = null
    let isBegun = false
    let isRefused = false
    let heldBytes = 0
    let ending: ((to: ByteSink) => void) | null = null
    const stream = createByteStream((to) => {
      reader = to
      for (const bytes of held.splice(0)) to.write(bytes)
      if (ending) ending(to)
      else flow?.resume()
      return { resume: () => flow?.resume(), cut: () => flow?.cut() }
    })

    function refuse(error: unknown): void {
      isRefused = true
      reject(error)
    }

    function hold(bytes: Uint8Array): boolean {
      if (isRefused) return false
      held.push(bytes)
      heldBytes += bytes.length
      if (isBegun) return false
      try {
        isBegun = listener.hasContent(bytes) || heldBytes > silentMaxBytes
      } catch (error) {
        refuse(error)
      }
      if (isBegun) resolve(stream)
      return !isBegun
    }

    function end(how: (to: ByteSink) => void): void {
      ending = how
      if (reader) how(reader)
    }

    flow = pipeBytes(reply.body, {
      write: (bytes) => (reader ? reader.write(bytes) : hold(bytes)),
      // The problem is made only if needed: its stack costs about one percent of a stream's time.
      end: () => {
        try {
          if (!isBegun && !listener.hasContentAtEnd()) return refuse(emptyAnswer())
        } catch (error) {
          return refuse(error)
        }
        resolve(stream)
        end((to) => to.end())
      },
      fail: (error) => (isBegun ? end((to) => to.fail(error)) : refuse(error)),
    })
  })
}

function isContent(event: Buffer, { apiFormat, secrets, model }: Told): boolean {
  const text = dataOf(event).trim()
  if (text === '' || text === '[DONE]') return false
  const value = readJsonQuietly(text, jsonLimits.modelAnswer)
  // Data that are not JSON count as content and are forwarded.
  if (!isRecord(value)) return true
  const by = { provider: 'the provider', baseUrl: null, ...model, secrets }
  const refusal = refusalInBody(withErrorOf(apiFormat, value), { by, where: 'stream' })
  if (refusal === null) return !apiFormat.saysNothing(value)
  throw refusal.problem
}

function settleByWhatCame(held: readonly Uint8Array[], { account, client, apiFormat }: Told): void {
  const progress = freshProgress()
  const rules = { wantsUsage: false, costUsdOf: () => 0, onDone: () => {} }
  const parser = createSseParser(progress, rules, apiFormat.createStreamForm?.())
  parser.take(Buffer.concat(held))
  const usage = wholeUsage(progress)
  if (usage === null) account.settleUnconfirmed(client.why() ?? 'broken-off', progress.usage)
  else account.settle(usage)
}
