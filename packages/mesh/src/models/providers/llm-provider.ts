import type { JsonObject } from '@flotilla/protocol/json-value'

/**
 * How a call and its answer are written; each is the public API of that name: `/v1/chat/completions`,
 * `/v1/messages`, `/v1/messages/count_tokens`, `/v1/embeddings`, `/v1/audio/transcriptions`.
 */
export type ModelForm = 'chat' | 'messages' | 'token-count' | 'embeddings' | 'transcription'

/**
 * PORT. A provider that answers model calls in one or more API forms. The gateway never calls it with a form that is
 * missing in its `forms`.
 *
 * `complete` sends `body` as it is and resolves with the status and the bytes of the answer as they come; bytes are
 * not parsed, not buffered beyond one chunk, and not changed. It resolves once the status is known, whatever the
 * status is: a refusal by the far end is a reply and not an error. A streamed answer is `text/event-stream` and ends
 * with `data: [DONE]` (chat) or the event `message_stop` (messages).
 *
 * It rejects with the Problem `provider-unreachable` when no connection could be made, so that nothing has left,
 * `upstream-failed` when the far end hung up, `upstream-timeout` when it was silent for too long, `provider-refused` when the provider itself cannot serve the call, and with the
 * signal's reason when that aborts. The same holds for reading the body. No message it throws holds a key.
 *
 * The caller reads the body to its end, or calls `discard`, or aborts the signal; each frees the connection. A
 * provider keeps nothing between calls that a second process would miss.
 */
export interface LlmProvider {
  readonly forms: ReadonlySet<ModelForm>
  complete(request: ProviderRequest, options: ProviderOptions): Promise<ProviderReply>
  /** Names of the models that are known without a request, without the provider's own. */
  modelNames(): Promise<readonly string[]>
  /** Frees its connections; calls that are open are cut. */
  close(): Promise<void>
}

/** What a call may take of the mesh; a provider that makes something of a body or an answer does it within these. */
export interface CallBounds {
  /** Counts bytes that are kept until the call is over; throws the Problem `rate-limited` where too many are kept already. */
  readonly hold?: ((bytes: number) => void) | undefined
  /** Does what returns at once, on the caller's share of the loop. */
  readonly spend?: (<T>(work: () => T) => T) | undefined
}

export interface ProviderOptions extends CallBounds {
  readonly signal: AbortSignal
}

export interface ProviderRequest {
  readonly form: ModelForm
  /** Who asks; only a cassette cares. */
  readonly agentId: string
  /** The run whose agent thinks by this call; none for calls of its programs. Only who records it cares. */
  readonly ofRun?: RunCall
  /** The provider's own name of the model, as in `body`. */
  readonly model: string
  readonly stream: boolean
  /** The mesh wrote this request, for an agent or by translation, so it may leave out what the model refuses. */
  readonly mayFit?: boolean
  /** Names of features that are still tried out and that the client asked for, of those that are let through. */
  readonly betas?: readonly string[]
  /** The parsed form of `body`, to look into and not to send. */
  readonly parameters: JsonObject
  /** JSON as it goes out, or what `contentType` says: a transcription's is `multipart/form-data` with its boundary. */
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
  /** From the far end's Retry-After; null when it named none. */
  readonly retryAfterSeconds: number | null
  /** The far end's own word on whether to ask again; left out where it gave none. */
  readonly shouldRetry?: boolean
  /** The kind of error that a header names, as Amazon's does. */
  readonly errorType?: string
  /** The date of the reply by the clock of the far end, from which a time in its words counts, milliseconds since 1970. */
  readonly repliedAt?: number
  readonly body: AsyncIterable<Uint8Array>
  discard(): void
}
