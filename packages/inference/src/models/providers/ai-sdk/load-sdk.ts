import type { EmbeddingModelV4, LanguageModelV4 } from '@ai-sdk/provider'
import { Problem } from '@flotilla/protocol/problem'
import type { Secret } from '@flotilla/egress/credentials'
import type { SdkKind } from './sdk-rules.ts'

/** All settings of a provider's package; the package must not read the environment. */
export interface SdkAccess {
  readonly kind: SdkKind
  /** The base address with its path. */
  readonly baseUrl: string
  readonly apiKey: Secret | null
  /** Amazon's credentials for signed requests. */
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
  /** Whether a model takes a reasoning effort instead of a thinking budget in tokens. */
  readonly thinksByEffort: (model: string) => boolean
  /** Creates an embedding model; null if the package has no embeddings. */
  readonly embedding: ((model: string) => EmbeddingModelV4) | null
}

/** Loads the package of one provider. It takes tens of milliseconds, so only the first call loads it. */
export function loadSdk(access: SdkAccess, fetch: typeof globalThis.fetch): Promise<SdkModels> {
  return loaders[access.kind](access, {
    baseURL: access.baseUrl.replace(/\/+$/, ''),
    // An empty key keeps the packages from reading a key from the environment.
    apiKey: access.apiKey?.reveal() ?? '',
    fetch,
  })
}

interface SdkSetup {
  readonly baseURL: string
  readonly apiKey: string
  readonly fetch: typeof globalThis.fetch
}

const loaders: Readonly<Record<SdkKind, (access: SdkAccess, setup: SdkSetup) => Promise<SdkModels>>> = {
  anthropic: async (_access, setup) => {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    const sdk = createAnthropic(setup)
    return {
      language: (model) => sdk(model),
      thinksByEffort: await claudeByEffort(() => true),
      embedding: null,
    }
  },
  google: async (_access, setup) => {
    const { createGoogleGenerativeAI } = await import('@ai-sdk/google')
    const sdk = createGoogleGenerativeAI(setup)
    return {
      language: (model) => sdk(model),
      thinksByEffort: never,
      embedding: (model) => sdk.embeddingModel(model),
    }
  },
  mistral: async (_access, setup) => {
    const { createMistral } = await import('@ai-sdk/mistral')
    const sdk = createMistral(setup)
    return {
      language: (model) => sdk(model),
      thinksByEffort: never,
      embedding: (model) => sdk.embeddingModel(model),
    }
  },
  cohere: async (_access, setup) => {
    const { createCohere } = await import('@ai-sdk/cohere')
    const sdk = createCohere(setup)
    return {
      language: (model) => sdk(model),
      thinksByEffort: never,
      embedding: (model) => sdk.embeddingModel(model),
    }
  },
  bedrock: async ({ aws }, setup) => {
    const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock')
    if (!aws)
      throw new Problem('not-configured', {
        detail:
          'the provider bedrock needs a region: set region under providers.bedrock in config/settings.json',
      })
    const sdk = createAmazonBedrock({
      ...setup,
      region: aws.region,
      accessKeyId: aws.accessKeyId?.reveal() ?? '',
      secretAccessKey: aws.secretAccessKey?.reveal() ?? '',
      ...(aws.sessionToken ? { sessionToken: aws.sessionToken.reveal() } : {}),
    })
    return {
      language: (model) => sdk(model),
      thinksByEffort: await claudeByEffort((model) => model.includes('anthropic')),
      embedding: (model) => sdk.embeddingModel(model),
    }
  },
  azure: async ({ azure }, setup) => {
    const { createAzure } = await import('@ai-sdk/azure')
    const { apiVersion, byDeployment } = azure ?? { apiVersion: null, byDeployment: false }
    const sdk = createAzure({
      ...setup,
      useDeploymentBasedUrls: byDeployment,
      ...(apiVersion === null ? {} : { apiVersion }),
    })
    return {
      language: (model) => sdk.chat(model),
      thinksByEffort: never,
      embedding: (model) => sdk.embeddingModel(model),
    }
  },
  openai: async (_access, setup) => {
    const { createOpenAI } = await import('@ai-sdk/openai')
    const sdk = createOpenAI(setup)
    return {
      language: (model) => sdk.responses(model),
      thinksByEffort: () => true,
      embedding: null,
    }
  },
}

const never = () => false

/** Asks the package about Anthropic's models; all other models at Amazon take an effort. */
async function claudeByEffort(isClaude: (model: string) => boolean): Promise<(model: string) => boolean> {
  const { getModelCapabilities } = await import('@ai-sdk/anthropic/internal')
  return (model) => !isClaude(model) || getModelCapabilities(model).supportsAdaptiveThinking
}
