import type { Thought } from '@flotilla/protocol/normal-answer'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { ToolDefinition } from '@flotilla/protocol/tool-call'
import type { ImageType } from '@flotilla/protocol/image-type'

/** A call of a tool as the model wrote it; the arguments are text that may be anything. */
export interface RequestedCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** A picture in a conversation; its bytes are in the image store. */
export interface ImageRef {
  readonly mediaType: ImageType
  /** Hex, of the bytes. */
  readonly sha256: string
  readonly sizeBytes: number
}

/** Whose words they are that a model reads as its user's; the loop's own are nobody's. For people who read them later. */
export type Speaker = 'person' | 'other'

/** A conversation as models read it. Every word in it went through `sanitizeForPrompt`. */
export type PromptMessage =
  | { readonly role: 'system' | 'user'; readonly content: PromptText; readonly by?: Speaker }
  | {
      readonly role: 'assistant'
      readonly content: PromptText
      readonly toolCalls: readonly RequestedCall[]
      /** What the model thought before it made these calls, for the provider that wants it back; left out for nothing. */
      readonly thoughts?: readonly Thought[]
    }
  | {
      readonly role: 'tool'
      readonly content: PromptText
      readonly toolCallId: string
      /** Pictures that belong to the result; left out for none. */
      readonly images?: readonly ImageRef[]
    }

export interface ModelRequest {
  readonly messages: readonly PromptMessage[]
  readonly tools: readonly ToolDefinition[]
  /** False for a last answer: the tools stay named, since the conversation mentions them, and none may be called. */
  readonly mayCallTools: boolean
  /** What it is to the run, where it is no part of its conversation. */
  readonly purpose?: 'subagent' | 'aside'
  /** Upper bound of the answer in tokens, when the task has a budget. */
  readonly answerTokensMax: number | null
}

export interface ModelAnswer {
  readonly text: string
  readonly toolCalls: readonly RequestedCall[]
  /** Left out for nothing. */
  readonly thoughts?: readonly Thought[]
  /** True when the model was cut off by its own length limit. */
  readonly cutOff: boolean
  readonly tokens: number
  /** Of them, what the prompt had; 0 where nobody said. */
  readonly promptTokens: number
  /** Name of the model that answered, which may stand in for the one that was asked; null where nobody said. */
  readonly answeredBy: string | null
  readonly costUsd: number
}

/**
 * PORT. One answer of a model. `onText` hears the words as they come; when a broken stream is asked for again,
 * it may hear a beginning twice, and the returned text is what counts. Rejects with a Problem (`model-failed`
 * or what the mesh said), or with the signal's reason.
 */
export interface LanguageModel {
  answer(request: ModelRequest, onText: (delta: string) => void, signal: AbortSignal): Promise<ModelAnswer>
}
