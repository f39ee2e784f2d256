import type { JsonObject } from '@flotilla/protocol/json-value'
import type { Problem } from '@flotilla/protocol/problem'
import type { ModelForm } from '../providers/llm-provider.ts'
import type { StreamForm } from './sse-parser.ts'
import type { PromptFound } from './prompt/prompt-found.ts'
import type { Spelling } from './spelling.ts'
import type { TokenUsage } from './usage.ts'

/**
 * One public format of the model API. It contains only the differences; guard, rate limit, model list, money and
 * lease belong to the use case and are the same for all formats.
 */
export interface ApiFormat {
  readonly form: ModelForm
  /** Throws the Problem `bad-json` or `bad-request`. Pure. */
  readonly read: (body: Uint8Array, betas: readonly string[]) => CallParameters
  /** Has an answer tokens of its own, to be reserved and bounded? */
  readonly hasOutput: boolean
  /** What a whole answer tells of its usage; null for nothing believable. Pure. */
  readonly usageOf: (answer: Readonly<Record<string, unknown>>) => TokenUsage | null
  /** Is there no word, no call and no reason in this answer, or in what one event of a stream says? Pure. */
  readonly saysNothing: (said: Readonly<Record<string, unknown>>) => boolean
  /** The usage with the cost, as the client gets it; null if the answer is passed on byte for byte. Pure. */
  readonly usageWithCost:
    | ((answer: Readonly<Record<string, unknown>>, costUsd: number) => Record<string, unknown>)
    | null
  /** Made for each stream; null in a form that has none. */
  readonly createStreamForm: (() => StreamForm) | null
  /** A whole answer as the events of a stream, for a client that was promised one. Pure. */
  readonly wholeAsEvents: (body: Uint8Array) => Uint8Array
  /** The same problem, with what this form's clients look for. Pure. */
  readonly withErrorBody: (problem: Problem) => Problem
  /** A stream that has begun can only say it this way. Pure. */
  readonly errorEvent: (problem: Problem) => Uint8Array
}

/** One call as a client wrote it, read. */
export interface CallParameters {
  readonly model: string
  readonly stream: boolean
  /** The client asked for the usage at the end of its stream. */
  readonly wantsUsage: boolean
  readonly answers: number
  /** The client's own bound on the answer, by the name it used. */
  readonly maxTokens: { readonly field: BoundField; readonly value: number } | null
  /** What is forwarded, but for model and bound; a stream always asks for its usage. */
  readonly forwarded: JsonObject
  /** How it came, for what of it goes on as it is; null where all is printed. */
  readonly spelling: Spelling | null
  /** What of it is no text. */
  readonly prompt: PromptFound
  /** What is forwarded once it is known how many tokens are left for the answer. */
  readonly fit?: (forwarded: JsonObject, maxTokens: number) => JsonObject
  readonly betas?: readonly string[]
}

type BoundField = 'max_tokens' | 'max_completion_tokens'
