import { jsonLimits } from '@flotilla/protocol/limits'
import * as z from 'zod'
import { readJson } from '@flotilla/foundation/intake'
import { albumByTime } from '../../adapter.ts'
import type { ChangedIdentity, ReceivedAttachment, ReceivedMessage } from '../../adapter.ts'

/** The maximum number of messages of one webhook call. Meta sends a few at a time. */
const messagesMax = 1000
/** Twice WhatsApp's limit for a message, in UTF-16 code units. */
const textCharsMax = 8192
/** The maximum length of a sender's name, in characters. */
const nameCharsMax = 64
/**
 * The maximum age of a message, in milliseconds. Meta redelivers for a week, and a captured call
 * stays valid, because its signature has no timestamp. Younger messages are deduplicated by id.
 */
const messageMaxMs = 8 * 24 * 3_600_000
/** The maximum length of the name of a received file, in characters. */
const fileNameCharsMax = 200
/** The maximum length of the media type of a received file, in characters. */
const mediaTypeCharsMax = 100

const mediaSchema = z.looseObject({
  id: z.string().max(128),
  mime_type: z.string().nullish(),
  filename: z.string().nullish(),
  caption: z.string().nullish(),
  voice: z.boolean().nullish(),
})

const pressSchema = z.looseObject({ id: z.string().max(256), title: z.string().nullish() })

const phoneNumber = z.string().regex(/^[1-9]\d{6,14}$/)

const messageSchema = z.looseObject({
  id: z.string().min(1).max(256),
  from: phoneNumber,
  group_id: z.string().max(128).nullish(),
  /** When the sender wrote the message, in seconds since 1970. */
  timestamp: z
    .string()
    .regex(/^\d{1,12}$/)
    .nullish(),
  type: z.string(),
  context: z
    .looseObject({
      from: z.string().nullish(),
      forwarded: z.boolean().nullish(),
      frequently_forwarded: z.boolean().nullish(),
    })
    .nullish(),
  text: z.looseObject({ body: z.string() }).nullish(),
  image: mediaSchema.nullish(),
  audio: mediaSchema.nullish(),
  video: mediaSchema.nullish(),
  document: mediaSchema.nullish(),
  interactive: z
    .looseObject({ button_reply: pressSchema.nullish(), list_reply: pressSchema.nullish() })
    .nullish(),
})
type WireMessage = z.infer<typeof messageSchema>

const valueSchema = z.looseObject({
  metadata: z.looseObject({ display_phone_number: z.string(), phone_number_id: z.string() }),
  contacts: z
    .array(
      z.looseObject({ wa_id: z.string(), profile: z.looseObject({ name: z.string().nullish() }).nullish() }),
    )
    .nullish(),
  /** Each message is parsed separately, so that an unknown kind does not affect the others. */
  messages: z.array(z.unknown()).nullish(),
})
type WireValue = z.infer<typeof valueSchema>

const callbackSchema = z.looseObject({
  object: z.literal('whatsapp_business_account'),
  entry: z.array(z.looseObject({ changes: z.array(z.looseObject({ value: z.unknown() })) })),
})

/** A system message about a new phone number, which users cannot write. */
const changeSchema = z.looseObject({
  type: z.literal('system'),
  id: z.string().min(1).max(256),
  from: phoneNumber,
  system: z
    .looseObject({
      type: z.enum(['user_changed_number', 'customer_changed_number']),
      wa_id: phoneNumber.nullish(),
      new_wa_id: phoneNumber.nullish(),
    })
    .refine((system) => (system.wa_id ?? system.new_wa_id) != null),
})

function changedNumber({ id, from, system }: z.infer<typeof changeSchema>): ChangedIdentity {
  return { id, from, to: system.wa_id ?? system.new_wa_id ?? from }
}

export interface WhatsAppCallback {
  readonly messages: readonly ReceivedMessage[]
  /** People whose phone number changed. */
  readonly changes: readonly ChangedIdentity[]
}

/**
 * Returns all messages to this phone number. Null if the body is not a webhook call of WhatsApp.
 * Status updates, reactions and messages to other numbers are ignored. Pure.
 */
export function readCallback(
  body: Uint8Array,
  phoneNumberId: string,
  nowMs: number,
): WhatsAppCallback | null {
  const callback = callbackSchema.safeParse(quietly(body))
  if (!callback.success) return null
  const messages: ReceivedMessage[] = []
  const changes: ChangedIdentity[] = []
  for (const { value } of callback.data.entry.flatMap(({ changes }) => changes)) {
    const read = valueSchema.safeParse(value)
    if (!read.success || read.data.metadata.phone_number_id !== phoneNumberId) continue
    for (const raw of read.data.messages ?? []) {
      const message = messageSchema.safeParse(raw)
      if (message.success && nowMs - Number(message.data.timestamp ?? nowMs / 1000) * 1000 > messageMaxMs)
        continue
      const one = message.success ? readMessage(message.data, read.data) : null
      if (one !== null && messages.length < messagesMax) messages.push(one)
      const change = changeSchema.safeParse(raw)
      if (change.success && changes.length < messagesMax) changes.push(changedNumber(change.data))
    }
  }
  return { messages, changes }
}

function quietly(body: Uint8Array): unknown {
  try {
    return readJson(body, jsonLimits.delivery)
  } catch {
    return null
  }
}

function readMessage(message: WireMessage, { metadata, contacts }: WireValue): ReceivedMessage | null {
  const own = metadata.display_phone_number.replace(/\D/g, '')
  if (message.from === own) return null
  const files = filesOf(message)
  const { context } = message
  const isForwarded = context?.forwarded === true || context?.frequently_forwarded === true
  const pressed = message.interactive?.button_reply?.id ?? message.interactive?.list_reply?.id ?? null
  const caption = message.image?.caption ?? message.video?.caption ?? message.document?.caption
  const text = (message.text?.body ?? caption ?? '').slice(0, textCharsMax)
  if (text === '' && files.length === 0 && pressed === null) return null
  const group = message.group_id ?? null
  const name = contacts?.find(({ wa_id: id }) => id === message.from)?.profile?.name
  return {
    id: message.id,
    senderId: message.from,
    senderName: (name ?? '').slice(0, nameCharsMax),
    place: { conversationId: group ?? message.from, threadId: null, isPrivate: group === null },
    ...(isForwarded
      ? { text: '', attachments: [], forwarded: { text, by: '', attachments: files }, pressed: null }
      : { text, attachments: files, pressed }),
    addressed: group === null || pressed !== null || context?.from?.replace(/\D/g, '') === own,
    // WhatsApp sends an album as one message per file without a common id.
    ...(files.some(({ kind }) => kind !== 'voice') ? { albumId: albumByTime } : {}),
  }
}

function filesOf({ image, audio, video, document }: WireMessage): ReceivedAttachment[] {
  const files: ReceivedAttachment[] = []
  const add = (
    kind: ReceivedAttachment['kind'],
    media: z.infer<typeof mediaSchema> | null | undefined,
    name: string,
  ) => {
    if (media == null) return
    files.push({
      kind,
      name: (media.filename ?? name).slice(0, fileNameCharsMax),
      mediaType: (media.mime_type ?? 'application/octet-stream').slice(0, mediaTypeCharsMax),
      sizeBytes: null,
      reference: media.id,
    })
  }
  add('picture', image, 'picture.jpg')
  add(audio?.voice === true ? 'voice' : 'document', audio, audio?.voice === true ? 'voice.ogg' : 'audio')
  add('document', video, 'video.mp4')
  add('document', document, 'document')
  return files
}
