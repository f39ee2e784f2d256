import type { JsonObject } from '@flotilla/protocol/json-value'
import { badRequest } from '../../formats/json-body.ts'
import { embeddingsReply } from '../../formats/embeddings-reply.ts'
import { textInputs } from '../../formats/embeddings-parameters.ts'
import type { ProviderReply, ProviderRequest } from '../../llm-provider.ts'
import type { SdkModels } from './load-sdk.ts'

/** Makes embeddings with a package, in as many calls as its limit requires. Throws the errors of the package. */
export async function embedWithSdk(
  models: SdkModels,
  request: ProviderRequest,
  signal: AbortSignal,
): Promise<ProviderReply> {
  if (!models.embedding) throw badRequest(`the model ${request.model} cannot create embeddings`)
  const model = models.embedding(request.model)
  const parameters: JsonObject = request.parameters
  const values = textInputs(parameters['input'])
  const dimensions = parameters['dimensions']
  const perCall = (await model.maxEmbeddingsPerCall) ?? values.length
  const vectors: (readonly number[])[] = []
  let tokens: number | null = 0
  for (let from = 0; from < values.length; from += perCall) {
    const result = await model.doEmbed({
      values: values.slice(from, from + perCall),
      abortSignal: signal,
      ...(typeof dimensions === 'number' ? { dimensions } : {}),
    })
    vectors.push(...result.embeddings.map(plainVector))
    tokens = tokens === null || !result.usage ? null : tokens + result.usage.tokens
  }
  return embeddingsReply({ vectors, model: request.model, tokens, parameters })
}

function plainVector(embedding: unknown): readonly number[] {
  if (Array.isArray(embedding)) return embedding as readonly number[]
  if (ArrayBuffer.isView(embedding)) return Array.from(embedding as unknown as ArrayLike<number>)
  throw badRequest('this model did not return embeddings')
}
