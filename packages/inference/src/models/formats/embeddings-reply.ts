import type { JsonObject } from '@flotilla/protocol/json-value'
import type { ProviderReply } from '../llm-provider.ts'

/**
 * Writes vectors as an answer of `/v1/embeddings`: numbers or, if requested, little-endian floats in base64. Pure.
 */
export function embeddingsReply(made: {
  readonly vectors: readonly (readonly number[])[]
  readonly model: string
  /** The prompt tokens; null if the provider reports none. */
  readonly tokens: number | null
  readonly parameters: JsonObject
}): ProviderReply {
  const isBase64 = made.parameters['encoding_format'] === 'base64'
  const text = JSON.stringify({
    object: 'list',
    data: made.vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: isBase64 ? base64Of(vector) : vector,
    })),
    model: made.model,
    ...(made.tokens === null ? {} : { usage: { prompt_tokens: made.tokens, total_tokens: made.tokens } }),
  })
  return {
    status: 200,
    contentType: 'application/json',
    retryAfterSeconds: null,
    body: onePiece(text),
    discard: () => {},
  }
}

function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4)
  return bytes.toString('base64')
}

async function* onePiece(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
