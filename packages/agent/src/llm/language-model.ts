import type { CallEnd } from '@flotilla/protocol/chat-history'
import type { Thought } from '@flotilla/protocol/normal-answer'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { ToolDefinition } from '@flotilla/protocol/tool-call'
import type { ImageType } from '@flotilla/protocol/image-type'

/** A tool call as the model wrote it; the arguments are text of any content. */
export interface RequestedCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** A picture in a conversation; its bytes are in the image store. */
export interface ImageRef {
  readonly mediaType: ImageType
  /** SHA-256 of the bytes, in hex. */
  readonly sha256: string
  readonly sizeBytes: number
}

/** Who wrote a user message, for people who read it later; messages of the loop itself have no speaker. */
export type Speaker = 'person' | 'other'

/** A conversation as models read it. Every text in it went through `sanitizeForPrompt`. */
export type PromptMessage =
  | {
      readonly role: 'system' | 'user'
      readonly content: PromptText
      readonly by?: Speaker
      /** The id of the run that began with this message. */
      readonly run?: string
    }
  | {
      readonly role: 'assistant'
      readonly content: PromptText
      readonly toolCalls: readonly RequestedCall[]
      /** The model's thinking before these calls, for a provider that requires it back; absent if empty. */
      readonly thoughts?: readonly Thought[]
    }
  | {
      readonly role: 'tool'
      readonly content: PromptText
      readonly toolCallId: string
      /** Pictures that belong to the result; absent if empty. */
      readonly images?: readonly ImageRef[]
      /** How the tool call ended; absent if it succeeded. */
      readonly ended?: CallEnd
    }

/** The tools that a conversation has found, as its messages describe them. */
export interface FoundInRequest {
  /** In the order in which they were found. */
  readonly definitions: readonly ToolDefinition[]
  /** What each result of a search says. */
  readonly results: ReadonlyMap<PromptMessage, FoundInResult>
}

export interface FoundInResult {
  readonly names: readonly string[]
  /** What the result says beside the definitions. */
  readonly note: string
}

export interface ModelRequest {
  readonly messages: readonly PromptMessage[]
  readonly tools: readonly ToolDefinition[]
  /** The tools that the conversation has found; absent if the model only reads about them. */
  readonly found?: FoundInRequest
  /**
   * False for a last answer: the tools stay listed, because the conversation mentions them, but none may be called.
   */
  readonly mayCallTools: boolean
  /** What the request is for, if it is not part of the run's conversation. */
  readonly purpose?: 'subagent' | 'aside'
  /** Upper bound of the answer in tokens, if the task has a budget. */
  readonly answerTokensMax: number | null
}

export interface ModelAnswer {
  readonly text: string
  readonly toolCalls: readonly RequestedCall[]
  /** Absent if empty. */
  readonly thoughts?: readonly Thought[]
  /** True when the model was cut off by its own length limit. */
  readonly cutOff: boolean
  /** True when a filter of the provider, or a refusal of the model, ended the answer. */
  readonly isFiltered?: boolean
  readonly tokens: number
  /** How many of `tokens` belong to the prompt; 0 when unknown. */
  readonly promptTokens: number
  /** Name of the model that answered, which may be a fallback; null when unknown. */
  readonly answeredBy: string | null
  readonly costUsd: number
}

/**
 * Receives a piece of an answer. `begins` marks its first piece, so that a reader can drop the pieces of an abandoned
 * attempt.
 */
export type OnText = (delta: string, begins: boolean) => void

/**
 * PORT. Gets one answer of a model. `onText` receives the text as it comes. When a broken stream is requested
 * again, it receives a beginning twice; the returned text is authoritative. Rejects with a Problem
 * (`model-failed` or the mesh's own), or with the signal's reason.
 */
export interface LanguageModel {
  answer(request: ModelRequest, onText: OnText, signal: AbortSignal): Promise<ModelAnswer>
}
