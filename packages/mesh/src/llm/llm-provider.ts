import type { JsonObject } from '@flotilla/protocol/json-value'

/**
 * PORT. Somebody who completes chats in the form of `/v1/chat/completions`.
 *
 * `complete` sends `body` as it is and resolves with the status and the bytes of the answer as they come; bytes are
 * not looked at, not buffered beyond one chunk, and not changed. It resolves once the status is known, whatever the
 * status is: a refusal by the far end is a reply and not an error. A streamed answer is `text/event-stream` and ends
 * with `data: [DONE]`.
 *
 * It rejects with the Problem `provider-unreachable` when no connection could be made, so that nothing has left,
 * `upstream-failed` when the far end hung up, `upstream-timeout` when it was silent for too long, `provider-refused` when the provider itself cannot serve the call, and with the
 * signal's reason when that aborts. The same holds for reading the body. No message it throws holds a key.
 *
 * The caller reads the body to its end, or calls `discard`, or aborts the signal; each frees the connection. A
 * provider keeps nothing between calls that a second process would miss.
 */
export interface LlmProvider {
  complete(request: ProviderRequest, options: { readonly signal: AbortSignal }): Promise<ProviderReply>
  /** Names of the models it can tell without asking anybody, without the provider's own. */
  modelNames(): Promise<readonly string[]>
  /** Frees its connections; calls that are open are cut. */
  close(): Promise<void>
}

export interface ProviderRequest {
  /** Who asks; only a cassette cares. */
  readonly agentId: string
  /** The provider's own name of the model, as in `body`. */
  readonly model: string
  readonly stream: boolean
  /** The parsed form of `body`, to look into and not to send. */
  readonly parameters: JsonObject
  /** JSON as it goes out. */
  readonly body: string | Uint8Array
}

export interface ProviderReply {
  readonly status: number
  readonly contentType: string
  /** From the far end's Retry-After; null when it named none. */
  readonly retryAfterSeconds: number | null
  readonly body: AsyncIterable<Uint8Array>
  discard(): void
}
