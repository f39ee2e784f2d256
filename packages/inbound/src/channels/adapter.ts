import type { ChannelName } from '@flotilla/protocol/people'

/**
 * An adapter connects one chat platform. It speaks the platform's protocol through its library and does nothing else.
 * The channels module makes all decisions, the same for every platform: permissions, what becomes a run, what is
 * sent, and when a message counts as delivered.
 */
export interface ChannelAdapter {
  readonly name: ChannelName
  readonly traits: ChannelTraits
  /**
   * Connects and receives messages until `close`. Resolves at the first answer of the platform. Rejects with a
   * `ChannelFailure` of kind `refused` if the token is rejected, so that the caller does not retry. The adapter
   * itself reconnects after later failures.
   */
  readonly start: (listener: ChannelListener) => Promise<void>
  /**
   * Sends a message. Resolves when the platform confirmed that it has the message, not when the
   * request was written. Rejects with a `ChannelFailure`.
   */
  readonly send: (message: OutgoingMessage, signal: AbortSignal) => Promise<SentMessage>
  /** Replaces the text of a message. Absent if the platform cannot edit. */
  readonly edit?: (edited: EditedMessage, signal: AbortSignal) => Promise<void>
  /**
   * Downloads a file that a user sent, by the reference from its message. References stay valid over restarts of the
   * mesh. Reads at most `maxBytes`. Rejects with a `ChannelFailure`: `too-large`, `gone` if the platform has deleted
   * the file, `refused` if the reference points to another host. Absent if users of the platform cannot send files.
   */
  readonly download?: (reference: string, maxBytes: number, signal: AbortSignal) => Promise<Uint8Array>
  /** Sends a file up to `fileBytesMax`; resolves and rejects as `send`. Absent if the platform accepts no files. */
  readonly upload?: (file: OutgoingFile, signal: AbortSignal) => Promise<SentMessage>
  /** Shows the typing indicator for a few seconds. Callers ignore its failures. */
  readonly showTyping?: (place: ConversationPlace) => Promise<void>
  /**
   * Handles a webhook call of the platform on the public API. Absent for adapters that connect to the platform
   * themselves.
   */
  readonly receiveRequest?: (request: CallbackRequest) => Promise<CallbackReply>
  /** After `close` resolves, no more messages arrive; those in progress were acknowledged or will be redelivered. */
  readonly close: () => Promise<void>
}

export interface ChannelTraits {
  /**
   * The maximum length of a message in the unit of the platform: UTF-16 code units, unless `text/` says otherwise.
   */
  readonly messageCharsMax: number
  /** The minimum interval between two edits of a message, in milliseconds; null if messages cannot be edited. */
  readonly editEveryMs: number | null
  /** The maximum number of buttons of a message; 0 if the platform has none. */
  readonly buttonsMax: number
  /**
   * True if the platform drops a message whose `clientId` it already has; otherwise the mesh marks a repeated
   * message. An adapter whose platform detects repeats only for a limited time marks later repeats itself.
   */
  readonly dropsRepeats: boolean
  /** The largest file that `upload` accepts, in bytes; 0 if there is no `upload`. */
  readonly fileBytesMax: number
}

export interface ChannelListener {
  /**
   * Resolves when the message is persisted or can be dropped. Only then may the adapter acknowledge
   * the message to the platform (offset, acknowledgement, status 200). Rejects if the message could
   * not be persisted; the platform then sends it again.
   */
  readonly received: (message: ReceivedMessage) => Promise<void>
  /** Called when the adapter skipped a message that it cannot parse. The mesh records it and notifies the owners. */
  readonly passedOver: (what: PassedOver) => void
  /**
   * Called when the platform has changed the id of a conversation. The change is persisted when the
   * call returns. Absent if the platform never changes these ids.
   */
  readonly moved?: (what: MovedConversation) => void
  /**
   * Called when the platform has changed the id of a user. The change is persisted when the call
   * returns. Absent if the platform never changes these ids.
   */
  readonly identityChanged?: (what: ChangedIdentity) => void
  /** Reports the connection state that people see. */
  readonly stateChanged: (state: ChannelState) => void
}

/** Two ids of the same conversation. The platform never reuses `from`. */
export interface MovedConversation {
  readonly from: string
  readonly to: string
}

/** Two ids of one user, in the form of `senderId`. The platform may later give `from` to another user. */
export interface ChangedIdentity {
  /** The id of the platform's message about the change, as in `ReceivedMessage`. */
  readonly id: string
  readonly from: string
  readonly to: string
}

export interface PassedOver {
  /** The platform's id of the message. */
  readonly id: string
  /** The reason as text for people, without the content of the message. */
  readonly detail: string
}

export interface ChannelState {
  readonly state: 'connecting' | 'connected' | 'failing' | 'refused'
  /** The error text of the connection, without secrets; empty if there is no error. */
  readonly detail: string
  /** What a person can do about the error; empty if no action is needed. */
  readonly repair: string
}

/**
 * A message of a user, parsed and bounded by the adapter. Only the ids that the platform guarantees can be trusted.
 */
export interface ReceivedMessage {
  /**
   * The platform's id, unique within the channel. It contains the conversation's id if the platform numbers messages
   * per conversation.
   */
  readonly id: string
  /** The platform's id of the sender, in the form of `channelIdentities` without the name of the channel. */
  readonly senderId: string
  /** The name that the sender chose. For display only. */
  readonly senderName: string
  readonly place: ConversationPlace
  /** The text that the sender wrote. */
  readonly text: string
  /**
   * Text of another author that the sender forwards; never parsed as a command. Absent if the sender wrote
   * everything.
   */
  readonly forwarded?: ForwardedText
  /** The value of one of the mesh's buttons that the sender pressed; null for a text message. */
  readonly pressed: string | null
  /**
   * True if the message is for the bot: a direct message, a mention, a command, or a reply in a thread of the bot.
   */
  readonly addressed: boolean
  readonly attachments: readonly ReceivedAttachment[]
  /** The id that all messages of one album share; absent for a single message. */
  readonly albumId?: string
}

/** Text of an unknown author. It is untrusted, even if a known person forwards it. */
export interface ForwardedText {
  readonly text: string
  /** The author, as the platform names them; empty if unknown. */
  readonly by: string
  readonly attachments: readonly ReceivedAttachment[]
}

/** The album id for platforms that have none: files that one user sends in quick succession form one album. */
export const albumByTime = 'by-time'

export interface ConversationPlace {
  /** The id of the chat, channel or phone number. */
  readonly conversationId: string
  /** The id of the thread; null outside threads. */
  readonly threadId: string | null
  readonly isPrivate: boolean
}

export interface ReceivedAttachment {
  readonly kind: 'picture' | 'document' | 'voice'
  /** The name that the sender chose; untrusted. */
  readonly name: string
  /** The media type that the platform claims. Untrusted: the module checks the bytes. */
  readonly mediaType: string
  /** The size that the platform claims; null if unknown. */
  readonly sizeBytes: number | null
  /** The argument of `download`, at most `referenceMaxChars`. A file with a longer reference is left out. */
  readonly reference: string
}

/** The prefix of a message that may be a second delivery, on platforms that do not detect repeats. */
export const repeatMark = '(may be a repeat) '

/** The maximum length of a file reference, in UTF-16 code units. Some platforms use signed URLs. */
export const referenceMaxChars = 2048

export interface OutgoingMessage {
  readonly place: ConversationPlace
  /** The message's id, the same for each attempt to send it. At most 64 characters of a-z, 0-9, `_` and `-`. */
  readonly clientId: string
  /** The message text in the platform's markup (HTML, mrkdwn, markdown), at most `messageCharsMax` long. */
  readonly text: string
  readonly buttons: readonly ChannelButton[]
  /** The id of the message that this message answers, used if the platform can show replies. */
  readonly replyToId: string | null
}

export interface ChannelButton {
  readonly label: string
  /** The value that comes back as `pressed`; at most 64 bytes. */
  readonly value: string
}

export interface EditedMessage {
  readonly place: ConversationPlace
  readonly messageId: string
  readonly text: string
  readonly buttons: readonly ChannelButton[]
}

export interface OutgoingFile {
  readonly place: ConversationPlace
  readonly clientId: string
  readonly name: string
  readonly mediaType: string
  readonly bytes: Uint8Array
}

export interface SentMessage {
  /** The platform's id of the message, for later edits. */
  readonly id: string
}

/** A request to the public API. Its body is bounded but not parsed. Header names are in lower case. */
export interface CallbackRequest {
  readonly method: 'GET' | 'POST'
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export interface CallbackReply {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

/**
 * `rate-limited`: retry after `retryAfterMs`. `unreachable`: the message was certainly not
 * delivered. `unsure`: the message may have been delivered. `gone`: the conversation no longer
 * accepts messages. `refused`: the token or the message was rejected, and a retry does not help.
 */
export type ChannelFailureKind = 'rate-limited' | 'unreachable' | 'unsure' | 'gone' | 'refused' | 'too-large'

export class ChannelFailure extends Error {
  override readonly name = 'ChannelFailure'
  readonly kind: ChannelFailureKind
  readonly retryAfterMs: number | null
  constructor(kind: ChannelFailureKind, detail: string, retryAfterMs: number | null = null) {
    super(detail)
    this.kind = kind
    this.retryAfterMs = retryAfterMs
  }
}
