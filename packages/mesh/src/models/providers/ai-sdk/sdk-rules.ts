/** Providers that are reached through their package of the AI SDK. */
export type SdkKind = 'anthropic' | 'google' | 'mistral' | 'cohere' | 'bedrock' | 'azure'

/** What differs between them in what they take. */
export interface SdkRules {
  /** Under which name its package looks for options of its own. */
  readonly options: string
  /** The provider of this thinking: no other gets it, because none could verify its signature. */
  readonly reasoningFormat: string
  /** Names of tools that it takes as they are; others are changed on the way there and back. */
  readonly toolName: RegExp
  /** Ids of tool calls that it takes as they are; others are replaced by one of `toolIdChars` letters. */
  readonly toolId: RegExp
  readonly toolIdChars: number
  /** Takes pictures by address; elsewhere they must come in the request. */
  readonly imagesByUrl: boolean
  /** Its tools' schemas name one type at a time, and what is in an array. */
  readonly plainSchemas: boolean
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
  },
  google: {
    options: 'google',
    reasoningFormat: 'google-gemini-v1',
    toolName: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/,
    toolId: /^[^]{1,256}$/,
    toolIdChars: 24,
    imagesByUrl: false,
    plainSchemas: true,
  },
  mistral: {
    options: 'mistral',
    reasoningFormat: 'mistral-v1',
    toolName: word,
    toolId: /^[a-zA-Z0-9]{9}$/,
    toolIdChars: 9,
    imagesByUrl: true,
    plainSchemas: false,
  },
  cohere: {
    options: 'cohere',
    reasoningFormat: 'cohere-v1',
    toolName: word,
    toolId: /^[^]{1,256}$/,
    toolIdChars: 24,
    imagesByUrl: true,
    plainSchemas: true,
  },
  bedrock: {
    options: 'bedrock',
    reasoningFormat: 'bedrock-v1',
    toolName: word,
    toolId: word,
    toolIdChars: 24,
    imagesByUrl: false,
    plainSchemas: false,
  },
  azure: {
    options: 'openai',
    reasoningFormat: 'azure-v1',
    toolName: word,
    toolId: /^[^]{1,40}$/,
    toolIdChars: 24,
    imagesByUrl: true,
    plainSchemas: false,
  },
}
