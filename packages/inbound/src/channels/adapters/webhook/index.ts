import type { Clock } from '@flotilla/protocol/clock'
import { jsonLimits } from '@flotilla/protocol/limits'
import { channelIdentities } from '@flotilla/protocol/people'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import type { Secret } from '@flotilla/egress/credentials'
import { readJson } from '@flotilla/foundation/intake'
import type { OutboundProxies } from '@flotilla/foundation/platform'
import { signStandard, standardSecretFault, verifyStandard } from '../../../triggers/webhook/index.ts'
import { channelLimits } from '../../channel-limits.ts'
import type { StandardSigned } from '../../../triggers/webhook/index.ts'
import { ChannelFailure, referenceMaxChars } from '../../adapter.ts'
import type {
  CallbackReply,
  CallbackRequest,
  ChannelAdapter,
  ChannelListener,
  OutgoingMessage,
  ReceivedAttachment,
  ReceivedMessage,
} from '../../adapter.ts'
import { createPlatformHttp } from '../platform-http.ts'
import { fetchSigned } from './fetch-signed.ts'
import { postSigned } from './post-signed.ts'

/** The maximum number of files of one message. */
const filesMax = 20

/** The body that the other system sends, signed according to Standard Webhooks. */
const messageSchema = z.looseObject({
  /** The id of the person, as in `channelIdentities.webhook`: the system's name, a colon, the person's id. */
  sender: z.string().max(256),
  sender_name: z.string().max(200).optional(),
  conversation: z.string().min(1).max(200),
  thread: z.string().min(1).max(200).nullish(),
  /** True if only the sender reads the conversation; true by default. */
  private: z.boolean().default(true),
  /** For a message in a group: true if the message is for the bot. */
  addressed: z.boolean().default(true),
  text: z.string().max(100_000).default(''),
  /** True if the sender forwards `text` and `files` of another person. */
  forwarded: z.boolean().default(false),
  pressed: z.string().max(100).nullish(),
  /** The message's files, which are downloaded later by a signed GET from the host that receives answers. */
  files: z
    .array(
      z.looseObject({
        name: z.string().max(200),
        media_type: z.string().max(100).default('application/octet-stream'),
        size: z.int().nonnegative().nullish(),
        /** True for a voice note. */
        voice: z.boolean().default(false),
        url: z.string().min(1).max(referenceMaxChars),
      }),
    )
    .max(filesMax)
    .default([]),
})

const { messageIdMaxChars } = channelLimits
/** How much of the reason is quoted if a message of the owner's program is malformed, in characters. */
const faultMaxChars = 500
/** The maximum length of one message to the owner's program, in characters. */
const messageCharsMax = 20_000
/** The maximum size of a file that is sent, as base64 within its event. */
const fileBytesMax = 4 * 1024 * 1024

/**
 * A channel for systems that speak JSON over HTTP. Messages are posted to `/channel/webhook`, and answers to the
 * owner's URL. Both are signed according to Standard Webhooks with one secret. The other system must deduplicate by
 * id.
 */
export function createWebhookChannel(deps: {
  readonly secret: Secret
  /** The URL that receives answers. */
  readonly url: string | null
  readonly clock: Clock
  readonly proxies: OutboundProxies
}): ChannelAdapter {
  const { clock } = deps
  const { url } = deps
  if (url === null) {
    throw new Problem('not-configured', {
      detail: 'channels.webhook.url is missing in config/settings.json, so answers have no address',
    })
  }
  const secret = deps.secret.reveal()
  const fault = standardSecretFault(secret)
  if (fault !== null) {
    throw new Problem('not-configured', { detail: `FLOTILLA_SYSTEM_CHANNEL_WEBHOOK_SECRET: ${fault}` })
  }
  const http = createPlatformHttp(deps.proxies)
  let listener: ChannelListener | null = null
  /** True after `close`: later calls are not processed. */
  let isClosed = false

  async function post(id: string, body: object, signal: AbortSignal): Promise<{ readonly id: string }> {
    const text = JSON.stringify(body)
    await postSigned(url ?? '', { body: text, ...signedHead(id, text) }, signal)
    return { id }
  }

  function signedHead(id: string, body: string): StandardSigned {
    const timestamp = String(Math.floor(clock.now() / 1000))
    return { id, timestamp, signature: signStandard(secret, { id, timestamp, body }) }
  }

  async function receive({ headers, body, method }: CallbackRequest): Promise<CallbackReply> {
    if (method === 'GET') return reply(405, 'send signed messages with POST')
    const id = headers['webhook-id'] ?? ''
    const signed = {
      id,
      timestamp: headers['webhook-timestamp'] ?? '',
      signature: headers['webhook-signature'] ?? '',
    }
    const verdict = verifyStandard(signed, body, { secrets: [secret], nowMs: clock.now() })
    if (!verdict.valid) return reply(401, verdict.reason)
    if (listener === null || isClosed) return reply(503, 'the channel is not connected')
    const parsed = messageSchema.safeParse(readJson(body, jsonLimits.body))
    if (!parsed.success) throw malformed(z.prettifyError(parsed.error).slice(0, faultMaxChars))
    const { sender, sender_name: senderName = '', conversation, thread = null } = parsed.data
    if (!channelIdentities.webhook.form.test(sender))
      throw malformed(
        'sender must be the name of your system, a colon and its id of the person: intranet:ann',
      )
    if (id.length > messageIdMaxChars)
      throw malformed(`webhook-id has at most ${messageIdMaxChars} characters`)
    await listener.received({
      id,
      senderId: sender,
      senderName,
      place: { conversationId: conversation, threadId: thread, isPrivate: parsed.data.private },
      ...authoredParts(parsed.data),
      addressed: parsed.data.addressed,
    })
    return reply(202, 'taken')
  }

  return {
    name: 'webhook',
    traits: { messageCharsMax, editEveryMs: 1000, buttonsMax: 20, dropsRepeats: true, fileBytesMax },
    start: async (given) => {
      isClosed = false
      listener = given
      given.stateChanged({ state: 'connected', detail: '', repair: '' })
    },
    send: (message, signal) => post(message.clientId, { type: 'message.sent', ...wire(message) }, signal),
    edit: async ({ place, messageId, text, buttons }, signal) => {
      const body = {
        type: 'message.edited',
        ...wire({ place, clientId: messageId, text, buttons, replyToId: null }),
      }
      // Each edit is a separate event; the receiver shows the last edit.
      await post(`${messageId}-edit-${clock.now()}`, body, signal)
    },
    upload: ({ place, clientId, name, mediaType, bytes }, signal) => {
      const file = { name, media_type: mediaType, content_base64: Buffer.from(bytes).toString('base64') }
      const { conversationId: conversation, threadId: thread, isPrivate } = place
      const at = { message_id: clientId, conversation, thread, private: isPrivate }
      return post(clientId, { type: 'file.sent', ...at, ...file }, signal)
    },
    download: async (reference, maxBytes, signal) => {
      signal.throwIfAborted()
      const address = URL.canParse(reference) ? new URL(reference) : null
      // The file must be on the owner's host: a sender must not choose the host that the mesh connects to.
      if (address === null || address.origin !== new URL(url).origin)
        throw new ChannelFailure('refused', 'the file is not on the host that receives answers')
      return fetchSigned(http, { url: address, sign: (id) => signedHead(id, ''), maxBytes }, signal)
    },
    receiveRequest: receive,
    close: async () => {
      isClosed = true
      listener = null
      await http.close()
    },
  }
}

/** Returns the problem for an invalid message, with a status after which the sender does not retry. */
function malformed(detail: string): Problem {
  return new Problem('bad-request', {
    detail,
    repair:
      'Nothing was stored. Send the message in the form that docs/channels.md shows under The webhook channel.',
  })
}

/** Separates own from forwarded content: in a forward no text, file or button is the sender's own. */
function authoredParts({
  text,
  forwarded,
  pressed = null,
  files,
}: z.infer<typeof messageSchema>): Pick<ReceivedMessage, 'text' | 'pressed' | 'attachments' | 'forwarded'> {
  const attachments = files.map(
    ({ name, media_type: mediaType, size = null, url: reference, voice }) =>
      ({
        kind: voice ? 'voice' : kindOf(mediaType),
        name,
        mediaType,
        sizeBytes: size,
        reference,
      }) as const,
  )
  if (!forwarded) return { text, pressed, attachments }
  return { text: '', pressed: null, attachments: [], forwarded: { text, by: '', attachments } }
}

function kindOf(mediaType: string): ReceivedAttachment['kind'] {
  return mediaType.startsWith('image/') ? 'picture' : 'document'
}

function wire({ place, clientId, text, buttons, replyToId }: OutgoingMessage): object {
  return {
    message_id: clientId,
    conversation: place.conversationId,
    thread: place.threadId,
    private: place.isPrivate,
    text,
    buttons: buttons.map(({ label, value }) => ({ label, value })),
    reply_to: replyToId,
  }
}

function reply(status: number, detail: string): CallbackReply {
  return {
    status,
    contentType: 'application/json',
    body: JSON.stringify({ status: status < 300 ? 'accepted' : 'refused', detail }),
  }
}
