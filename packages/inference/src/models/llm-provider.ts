import type { JsonObject } from '@flotilla/protocol/json-value'
import type { Problem } from '@flotilla/protocol/problem'
import type { TokenUsage } from './formats/usage.ts'

/**
 * The API format of a call and its answer; each is the public API of that name: `/v1/chat/completions`,
 * `/v1/responses`, `/v1/messages`, `/v1/messages/count_tokens`, `/v1/embeddings`, `/v1/audio/transcriptions`.
 */
export type ModelForm =
  | 'chat'
  | 'responses'
  | 'messages'
  | 'contents'
  | 'token-count'
  | 'embeddings'
  | 'transcription'

/**
 * PORT. A provider that answers model calls in one or more API forms. The gateway never calls it with a form that is
 * missing in its `forms`.
 *
 * `complete` sends `body` unchanged and resolves with the status and the bytes of the answer as they arrive; bytes
 * are not parsed, not buffered beyond one chunk, and not changed, unless the adapter reads a native wire. It
 * resolves once the status is known, whatever the status is: a provider's error response is a reply and not an
 * error. A streamed answer is `text/event-stream` and ends with `data: [DONE]` (chat), the event `message_stop`
 * (messages), or `response.completed`, `response.incomplete` or `response.failed` (responses).
 *
 * It rejects with the Problem `provider-unreachable` if no connection was made (nothing was sent),
 * `upstream-failed` if the provider hung up, `upstream-timeout` after a long silence, `provider-refused` if the
 * adapter cannot serve the call, and with the reason of an aborted signal. Reading the body rejects alike. No error
 * message contains a key.
 *
 * The caller must read the body to its end, call `discard`, or abort the signal; each frees the connection. A
 * provider keeps no state between calls that a second process would need.
 */
export interface LlmProvider {
  readonly forms: ReadonlySet<ModelForm>
  complete(request: ProviderRequest, options: ProviderOptions): Promise<ProviderReply>
  /** Returns names of models known without a request; without the provider's prefix. */
  modelNames(): Promise<readonly string[]>
  /** Closes the connections; open calls are aborted. */
  close(): Promise<void>
}

/**
 * The limits of a call on memory and time of the mesh; a provider that parses bodies or answers must respect them.
 */
export interface CallBounds {
  /** Counts bytes that are kept until the call is over; throws the Problem `rate-limited` above the limit. */
  readonly hold?: ((bytes: number) => void) | undefined
  /** Runs synchronous work on the caller's share of the event loop. */
  readonly spend?: (<T>(work: () => T) => T) | undefined
}

/** Converts a provider's error to a Problem (temporary or not, next step); null if the error is unknown. */
export type JudgeError = (answer: { readonly error: unknown }) => Problem | null

export interface ProviderOptions extends CallBounds {
  readonly signal: AbortSignal
  /** Classifies an error inside an answer that the provider's adapter translates; unknown errors are temporary. */
  readonly judge?: JudgeError
  /**
   * Called with the usage that a failed answer reports, before the failure is reported. Only adapters that translate
   * an answer call it: an answer that is forwarded as it came has its usage in its bytes.
   */
  readonly billed?: (usage: TokenUsage) => void
}

export interface ProviderRequest {
  readonly form: ModelForm
  /** The calling agent; only cassettes and connection shares use it. */
  readonly agentId: string
  /** The run that this call belongs to; omitted for calls of programs. Only the recorder of runs uses it. */
  readonly ofRun?: RunCall
  /** The provider's own name of the model, as in `body`. */
  readonly model: string
  readonly stream: boolean
  /** True if the mesh wrote this request, for an agent or by translation, so that rejected members may be omitted. */
  readonly mayFit?: boolean
  /** Beta features that the client asked for, without those that the mesh does not forward. */
  readonly betas?: readonly string[]
  /** The parsed form of `body`, to be read but not sent. */
  readonly parameters: JsonObject
  /**
   * The JSON to send, or bytes of type `contentType`: a transcription has `multipart/form-data` with its boundary.
   */
  readonly body: string | Uint8Array
  readonly contentType?: string
}

/** `loop` is the conversation of the run itself; the others are calls outside it. */
export type CallPurpose = 'loop' | 'subagent' | 'aside'

export interface RunCall {
  readonly runId: string
  readonly fence: number
  readonly purpose: CallPurpose
}

export interface ProviderReply {
  readonly status: number
  readonly contentType: string
  /** The wait that the provider asks for, from its headers; null if none. */
  readonly retryAfterSeconds: number | null
  /** The provider's statement whether a retry is useful; omitted if it gives none. */
  readonly shouldRetry?: boolean
  /** The kind of error that a header names, as in Amazon's replies. */
  readonly errorType?: string
  /** The provider's date of the reply, from which times in its message count, milliseconds since 1970. */
  readonly repliedAt?: number
  readonly body: AsyncIterable<Uint8Array>
  discard(): void
}
