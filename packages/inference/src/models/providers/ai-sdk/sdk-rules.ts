import type { StrictMode } from '../../formats/translate/strict-schema.ts'

/** Providers that the mesh calls through their package of the AI SDK. */
export type SdkKind = 'anthropic' | 'google' | 'mistral' | 'cohere' | 'bedrock' | 'azure' | 'openai'

/** The differences between these providers in what they accept. */
export interface SdkRules {
  /** The name under which the package expects provider-specific options. */
  readonly options: string
  /** The format name of this provider's thinking; other providers never get it, as they cannot verify it. */
  readonly reasoningFormat: string
  /** The name of the provider in the settings, to which its signatures are bound; omitted if it is unknown. */
  readonly name?: string
  /** Tool names that the provider accepts; others are replaced in requests and restored in answers. */
  readonly toolName: RegExp
  /** Tool call ids that the provider accepts; others are replaced by `toolIdChars` letters and digits. */
  readonly toolId: RegExp
  readonly toolIdChars: number
  /** Whether the provider accepts pictures by address; otherwise the request must contain their data. */
  readonly imagesByUrl: boolean
  /** Whether tool schemas must name one type at a time, and the items of each array. */
  readonly plainSchemas: boolean
  /** Whose rules of strict schemas apply. */
  readonly strictMode: StrictMode
  /** True if a conversation is a list of items, as in OpenAI's Responses API, and not of messages. */
  readonly hasItems?: true
  /** True if earlier words of the model must say whether they came before calls or as an answer. */
  readonly hasPhases?: true
}

const word = /^[a-zA-Z0-9_-]{1,64}$/

export const sdkRules: Readonly<Record<SdkKind, SdkRules>> = {
  anthropic: {
    options: 'anthropic',
    reasoningFormat: 'anthropic-claude-v1',
    toolName: word,
    toolId: word,
    toolIdChars: 24,
    imagesByUrl: true,
    plainSchemas: false,
    strictMode: 'anthropic',
  },
  google: {
    options: 'google',
    reasoningFormat: 'google-gemini-v1',
    toolName: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/,
    toolId: /^[^]{1,256}$/,
    toolIdChars: 24,
    imagesByUrl: false,
    plainSchemas: true,
    strictMode: 'openai',
  },
  mistral: {
    options: 'mistral',
    reasoningFormat: 'mistral-v1',
    toolName: word,
    toolId: /^[a-zA-Z0-9]{9}$/,
    toolIdChars: 9,
    imagesByUrl: true,
    plainSchemas: false,
    strictMode: 'openai',
  },
  cohere: {
    options: 'cohere',
    reasoningFormat: 'cohere-v1',
    toolName: word,
    toolId: /^[^]{1,256}$/,
    toolIdChars: 24,
    imagesByUrl: true,
    plainSchemas: true,
    strictMode: 'openai',
  },
  bedrock: {
    options: 'bedrock',
    reasoningFormat: 'bedrock-v1',
    toolName: word,
    toolId: word,
    toolIdChars: 24,
    imagesByUrl: false,
    plainSchemas: false,
    strictMode: 'anthropic',
  },
  azure: {
    options: 'openai',
    reasoningFormat: 'azure-v1',
    toolName: word,
    toolId: /^[^]{1,40}$/,
    toolIdChars: 24,
    imagesByUrl: true,
    plainSchemas: false,
    strictMode: 'openai',
  },
  openai: {
    options: 'openai',
    reasoningFormat: 'openai-responses-v1',
    toolName: word,
    toolId: word,
    toolIdChars: 24,
    imagesByUrl: true,
    plainSchemas: false,
    strictMode: 'openai',
    hasItems: true,
  },
}
