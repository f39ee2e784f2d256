import type { EmbeddingModelV4, LanguageModelV4 } from '@ai-sdk/provider'
import { Problem } from '@flotilla/protocol/problem'
import type { Secret } from '../../../credentials/secret.ts'
import type { SdkKind } from './sdk-rules.ts'

/** What a provider's package must be told; it reads nothing else, above all not the environment. */
export interface SdkAccess {
  readonly kind: SdkKind
  /** With its path. */
  readonly baseUrl: string
  readonly apiKey: Secret | null
  /** Amazon's own way of proving who one is. */
  readonly aws?: {
    readonly region: string
    readonly accessKeyId: Secret | null
    readonly secretAccessKey: Secret | null
    readonly sessionToken: Secret | null
  }
  readonly azure?: { readonly apiVersion: string | null; readonly byDeployment: boolean }
}

export interface SdkModels {
  language(model: string): LanguageModelV4
  /** Whether a model takes an effort where others of its kind take a number of tokens to think with. */
  readonly thinksByEffort: (model: string) => boolean
  /** Null where the package has none. */
  readonly embedding: ((model: string) => EmbeddingModelV4) | null
}

/** Loads the package of one provider: tens of milliseconds, so not before its first call. */
export async function loadSdk(access: SdkAccess, fetch: typeof globalThis.fetch): Promise<SdkModels> {
  const baseURL = access.baseUrl.replace(/\/+$/, '')
  // An empty key is a key all the same: without one the packages look into the environment.
  const apiKey = access.apiKey?.reveal() ?? ''
  switch (access.kind) {
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      const sdk = createAnthropic({ baseURL, apiKey, fetch })
      return {
        language: (model) => sdk(model),
        thinksByEffort: await claudeByEffort(() => true),
        embedding: null,
      }
    }
    case 'google': {
      const { createGoogleGenerativeAI } = await import('@ai-sdk/google')
      const sdk = createGoogleGenerativeAI({ baseURL, apiKey, fetch })
      return {
        language: (model) => sdk(model),
        thinksByEffort: never,
        embedding: (model) => sdk.embeddingModel(model),
      }
    }
    case 'mistral': {
      const { createMistral } = await import('@ai-sdk/mistral')
      const sdk = createMistral({ baseURL, apiKey, fetch })
      return {
        language: (model) => sdk(model),
        thinksByEffort: never,
        embedding: (model) => sdk.embeddingModel(model),
      }
    }
    case 'cohere': {
      const { createCohere } = await import('@ai-sdk/cohere')
      const sdk = createCohere({ baseURL, apiKey, fetch })
      return {
        language: (model) => sdk(model),
        thinksByEffort: never,
        embedding: (model) => sdk.embeddingModel(model),
      }
    }
    case 'bedrock': {
      const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock')
      const { aws } = access
      if (!aws) throw new Problem('not-configured', { detail: 'bedrock needs a region' })
      const sdk = createAmazonBedrock({
        baseURL,
        region: aws.region,
        apiKey,
        accessKeyId: aws.accessKeyId?.reveal() ?? '',
        secretAccessKey: aws.secretAccessKey?.reveal() ?? '',
        ...(aws.sessionToken ? { sessionToken: aws.sessionToken.reveal() } : {}),
        fetch,
      })
      return {
        language: (model) => sdk(model),
        thinksByEffort: await claudeByEffort((model) => model.includes('anthropic')),
        embedding: (model) => sdk.embeddingModel(model),
      }
    }
    case 'azure': {
      const { createAzure } = await import('@ai-sdk/azure')
      const { apiVersion, byDeployment } = access.azure ?? { apiVersion: null, byDeployment: false }
      const sdk = createAzure({
        baseURL,
        apiKey,
        fetch,
        useDeploymentBasedUrls: byDeployment,
        ...(apiVersion === null ? {} : { apiVersion }),
      })
      return {
        language: (model) => sdk.chat(model),
        thinksByEffort: never,
        embedding: (model) => sdk.embeddingModel(model),
      }
    }
  }
}

const never = () => false

/** What the package itself goes by, for Anthropic's models; others at Amazon all take an effort. */
async function claudeByEffort(isClaude: (model: string) => boolean): Promise<(model: string) => boolean> {
  const { getModelCapabilities } = await import('@ai-sdk/anthropic/internal')
  return (model) => !isClaude(model) || getModelCapabilities(model).supportsAdaptiveThinking
}
