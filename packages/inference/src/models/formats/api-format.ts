import type { JsonObject } from '@flotilla/protocol/json-value'
import type { Problem } from '@flotilla/protocol/problem'
import type { ModelForm } from '../llm-provider.ts'
import type { StreamForm } from './sse-parser.ts'
import type { PromptFound } from './prompt/prompt-found.ts'
import type { Spelling } from './spelling.ts'
import type { TokenUsage } from './usage.ts'

/**
 * One public format of the model API. It defines only the differences; the use case implements guard, rate limit,
 * model list, money and lease for all formats.
 */
export interface ApiFormat {
  readonly form: ModelForm
  /** Throws the Problem `bad-json` or `bad-request`. Pure. */
  readonly read: (body: Uint8Array, betas: readonly string[], named?: NamedByPath) => CallParameters
  /** Whether answers have output tokens, which need a reservation and a bound. */
  readonly hasOutput: boolean
  /** The member that bounds the answer in this form; if omitted, the model decides. */
  readonly boundField?: BoundField
  /** The usage in a whole answer; null if it is missing or implausible. Pure. */
  readonly usageOf: (answer: Readonly<Record<string, unknown>>) => TokenUsage | null
  /** Whether an answer, or one event of a stream, has no word, no call and no finish reason. Pure. */
  readonly saysNothing: (value: Readonly<Record<string, unknown>>) => boolean
  /** The error that an answer or an event reports in another member than `error`; undefined if none. Pure. */
  readonly errorIn?: (event: Readonly<Record<string, unknown>>) => unknown
  /** The usage with the cost, as the client gets it; null if the answer is passed on byte for byte. Pure. */
  readonly usageWithCost:
    | ((answer: Readonly<Record<string, unknown>>, costUsd: number) => Record<string, unknown>)
    | null
  /** Creates the reader of one stream; null for a form without streams. */
  readonly createStreamForm: (() => StreamForm) | null
  /** Converts a whole answer to stream events, for a client that asked for a stream. Pure. */
  readonly wholeAsEvents: (body: Uint8Array) => Uint8Array
  /** Adds the error body that clients of this form expect to a problem. Pure. */
  readonly withErrorBody: (problem: Problem) => Problem
  /** The error as a stream event, because a stream that has begun cannot change its status. Pure. */
  readonly errorEvent: (problem: Problem) => Uint8Array
}

/** Returns the answer or event with its error in the member `error`, where `refusalInBody` reads it. Pure. */
export function withErrorOf(
  { errorIn }: Pick<ApiFormat, 'errorIn'>,
  value: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return errorIn === undefined ? value : { ...value, error: value['error'] ?? errorIn(value) }
}

/** What the path of a call names, in a form whose body names neither the model nor whether a stream is asked for. */
export interface NamedByPath {
  readonly model: string
  readonly stream: boolean
}

/** The parsed parameters of one client request. */
export interface CallParameters {
  readonly model: string
  readonly stream: boolean
  /** True if the client asked for the usage at the end of its stream. */
  readonly wantsUsage: boolean
  readonly answers: number
  /** The client's token bound, with the field name that the client used. */
  readonly maxTokens: { readonly field: BoundField; readonly value: number } | null
  /** The members to forward, without model and token bound; a stream always requests its usage. */
  readonly forwarded: JsonObject
  /** The original bytes of members that are forwarded unchanged; null if the mesh prints all members itself. */
  readonly spelling: Spelling | null
  /** The content of the prompt other than text. */
  readonly prompt: PromptFound
  /** Adjusts the forwarded members once the number of tokens available for the answer is known. */
  readonly fit?: (forwarded: JsonObject, maxTokens: number) => JsonObject
  readonly betas?: readonly string[]
}

type BoundField = 'max_tokens' | 'max_completion_tokens' | 'max_output_tokens' | 'maxOutputTokens'
