import type { ChannelName } from '@flotilla/protocol/people'

/**
 * One platform on which people talk to agents. An adapter speaks the platform's wire by its own library and nothing else:
 * who may, what enters as a run, what is told and when it counts as told are decided by the module, the same for all.
 */
export interface ChannelAdapter {
  readonly name: ChannelName
  readonly traits: ChannelTraits
  /**
   * Connects, and hears until `close`. Resolves when the platform answered the first time; rejects with a `ChannelFailure`
   * of kind `refused` where the token is not accepted, so that nobody tries for ever. Later breaks it mends by itself.
   */
  readonly start: (hearing: ChannelHearing) => Promise<void>
  /** Resolves when the platform said that it has the message, never on hand-over. Rejects with a `ChannelFailure`. */
  readonly send: (message: OutgoingMessage, signal: AbortSignal) => Promise<SentMessage>
  /** Replaces a message's text. Absent where the platform cannot. */
  readonly edit?: (edited: EditedMessage, signal: AbortSignal) => Promise<void>
  /**
   * The bytes of a file that somebody sent, by the reference that came with it, also in a later life of the mesh; at most
   * `maxBytes`, and nothing is read beyond. Rejects with a `ChannelFailure`: `too-large`, `gone` where the platform has it no
   * more, `refused` where the reference leads elsewhere than to the platform. Absent where people can send no files.
   */
  readonly download?: (reference: string, maxBytes: number, signal: AbortSignal) => Promise<Uint8Array>
  /** Shows a file of at most `fileBytesMax`; otherwise as `send`. Absent where the platform takes none. */
  readonly upload?: (file: OutgoingFile, signal: AbortSignal) => Promise<SentMessage>
  /** Shows for a few seconds that somebody writes. A failure of it is nobody's concern. */
  readonly showTyping?: (place: ConversationPlace) => Promise<void>
  /** A call-back of the platform under the public API; absent for those that connect outwards. */
  readonly receiveRequest?: (request: CallbackRequest) => Promise<CallbackReply>
  /** No message is heard any more when it resolves; those that were under way were acknowledged or will come again. */
  readonly close: () => Promise<void>
}

export interface ChannelTraits {
  /** The longest message, in what the platform counts (UTF-16 code units unless the text room says otherwise). */
  readonly messageCharsMax: number
  /** The least time between two edits of one message, milliseconds; null where nothing can be edited. */
  readonly editEveryMs: number | null
  /** How many buttons one message can bear; 0 where it has none. */
  readonly buttonsMax: number
  /**
   * Whether a message whose `clientId` the platform has is not shown again; else a repeat is marked as one. Where the adapter
   * can tell that for a while only, it marks by itself what comes later.
   */
  readonly dropsRepeats: boolean
  /** The largest file that `upload` takes; 0 where there is none. */
  readonly fileBytesMax: number
}

export interface ChannelHearing {
  /**
   * Resolves when what was said is a durable row, or need not be one: only then the platform may be told that it was
   * taken (offset, acknowledgement, 200). Rejects where it could not be written: the platform sends it again.
   */
  readonly received: (message: ReceivedMessage) => Promise<void>
  /** Something was said that cannot be read, whatever is tried: the adapter goes on behind it, and it is written down and told. */
  readonly passedOver: (what: PassedOver) => void
  /** The platform gives a conversation another id from now on. Durable when it returns; absent where no id changes. */
  readonly moved?: (what: MovedConversation) => void
  /** The platform says that a person has another id from now on. Durable when it returns; absent where no id changes. */
  readonly identityChanged?: (what: ChangedIdentity) => void
  /** What people read of the channel's state. */
  readonly stateChanged: (state: ChannelState) => void
}

/** Ids of the same conversation; the platform never gives `from` to another one. */
export interface MovedConversation {
  readonly from: string
  readonly to: string
}

/** Ids of one person, as `senderId` has them; the platform may give `from` to another person later. */
export interface ChangedIdentity {
  /** Of the platform's message about it, as that of a received message. */
  readonly id: string
  readonly from: string
  readonly to: string
}

export interface PassedOver {
  /** As the platform names it. */
  readonly id: string
  /** Why, in words for people; nothing of what was said. */
  readonly detail: string
}

export interface ChannelState {
  readonly state: 'connecting' | 'connected' | 'failing' | 'refused'
  /** What is wrong, in words without a secret; empty while nothing is. */
  readonly detail: string
  /** What a person can do about it; empty where nothing need be done. */
  readonly repair: string
}

/** What somebody wrote, read from the wire and bounded by the adapter. Nothing in it is believed but what the platform vouches for. */
export interface ReceivedMessage {
  /** As the platform names it, unique within the channel (with its conversation's id where the platform counts per conversation). */
  readonly id: string
  /** The platform's id of who said it, as `channelIdentities` spells it without the channel's name. */
  readonly senderId: string
  /** What they call themselves: for people's eyes alone. */
  readonly senderName: string
  readonly place: ConversationPlace
  /** The sender's own words. */
  readonly text: string
  /** What the sender passes on and somebody else wrote: no command. Absent where all of it is the sender's own. */
  readonly forwarded?: ForwardedWords
  /** The value of a button of ours that was pressed; null for words. */
  readonly pressed: string | null
  /** Whether it is meant for us: a private conversation, a mention, a command, a thread that we are in. */
  readonly addressed: boolean
  readonly attachments: readonly ReceivedAttachment[]
  /** What several messages of one person bear that were sent as one; absent for one alone. */
  readonly albumId?: string
}

/** A stranger wrote it: hostile, whoever passes it on. */
export interface ForwardedWords {
  readonly text: string
  /** Who wrote it, as the platform names them; empty where it does not. */
  readonly by: string
  readonly attachments: readonly ReceivedAttachment[]
}

/** The album of files whose platform names none: those that one person sends right after one another are of one. */
export const albumByTime = 'by-time'

export interface ConversationPlace {
  /** The chat, channel or number. */
  readonly conversationId: string
  /** The thread in it; null where there is none. */
  readonly threadId: string | null
  readonly isPrivate: boolean
}

export interface ReceivedAttachment {
  readonly kind: 'picture' | 'document' | 'voice'
  /** As the sender called it: hostile. */
  readonly name: string
  /** As the platform says: hostile; the module looks at the bytes. */
  readonly mediaType: string
  /** As the platform says; null where it does not. */
  readonly sizeBytes: number | null
  /** What `download` finds it by, at most `referenceMaxChars`; where it is longer, the file is left out. */
  readonly reference: string
}

/** Begins what may be there already, where nobody sees whether it is. */
export const repeatMark = '(may be a repeat) '

/** Of the reference of a file, UTF-16 code units: some platforms give out signed addresses. */
export const referenceMaxChars = 2048

export interface OutgoingMessage {
  readonly place: ConversationPlace
  /** The same whenever the same message is sent again, at most 64 characters of a-z, 0-9, `_` and `-`. */
  readonly clientId: string
  /** In the platform's own spelling (HTML, mrkdwn, markdown), within `messageCharsMax`. */
  readonly text: string
  readonly buttons: readonly ChannelButton[]
  /** Whom it answers, where the platform can show that. */
  readonly replyToId: string | null
}

export interface ChannelButton {
  readonly label: string
  /** Comes back as `pressed`; at most 64 bytes. */
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
  /** As the platform names it, for later edits. */
  readonly id: string
}

/** A request at the public API, its body bounded and not parsed. Header names are lower-case. */
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
 * `rate-limited`: not before `retryAfterMs`. `unreachable`: it certainly did not arrive. `unsure`: it may have. `gone`: this
 * place takes nothing any more. `refused`: the token or the message is not accepted, and will not be by trying.
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
