import type { Clock } from '@flotilla/protocol/clock'
import { FormData } from 'undici'
import * as z from 'zod'
import type { Secret } from '@flotilla/egress/credentials'
import { ChannelFailure } from '../../adapter.ts'
import type {
  CallbackReply,
  CallbackRequest,
  ChannelAdapter,
  ChannelListener,
  ChannelState,
  ChannelTraits,
  SentMessage,
} from '../../adapter.ts'
import type { OutboundProxies } from '@flotilla/foundation/platform'
import { createPlatformHttp, tooLarge } from '../platform-http.ts'
import { createGraphClient } from './graph-client.ts'
import { addressed, outgoingBody } from './outgoing-body.ts'
import { readCallback } from './read-callback.ts'
import { handshake, isSigned } from './verify-callback.ts'

export interface WhatsAppConfig {
  readonly proxies: OutboundProxies
  readonly accessToken: Secret
  /** The key of webhook signatures. Null if the owner set no key: webhook calls are then rejected. */
  readonly appSecret: Secret | null
  /** The token that the owner enters on Meta's page with the webhook URL; null if none is set. */
  readonly verifyToken: Secret | null
  readonly phoneNumberId: string
  readonly clock: Clock
  /** The commands for WhatsApp's menu: lower-case names without the slash. */
  readonly menu?: readonly { readonly command: string; readonly description: string }[]
  /** The base URL of the Graph API with its version, such as `https://graph.facebook.com/v23.0`. */
  readonly graphRoot?: string
}

const publicRoot = 'https://graph.facebook.com/v23.0'
/** The delay between attempts of the first call, in milliseconds. */
const greetAgainMs = { least: 500, most: 60_000 } as const
/** How many conversations' last message ids are kept; the typing indicator needs these ids. */
const lastHeardMax = 1000
/** WhatsApp's limits for the menu of commands: the number of commands, and the characters of a description. */
const commandsMax = 30
const descriptionMaxChars = 256

const traits: ChannelTraits = {
  messageCharsMax: 4096,
  editEveryMs: null,
  buttonsMax: 10,
  dropsRepeats: false,
  fileBytesMax: 100 * 1000 * 1000,
}

const sentSchema = z.looseObject({ messages: z.array(z.looseObject({ id: z.string() })).min(1) })
const mediaSchema = z.looseObject({ id: z.string().regex(/^[\w-]{1,128}$/) })
const fileSchema = z.looseObject({ url: z.string(), file_size: z.number().nullish() })

/** The WhatsApp adapter: receives webhook calls and sends through the Graph API. */
export function createWhatsAppAdapter(config: WhatsAppConfig): ChannelAdapter {
  const { accessToken, appSecret, verifyToken, phoneNumberId, clock } = config
  const { menu = [], graphRoot = publicRoot } = config
  const http = createPlatformHttp(config.proxies)
  const graph = createGraphClient(http, graphRoot, accessToken)
  const ending = new AbortController()
  const lastHeard = new Map<string, string>()
  const underWay = new Set<Promise<CallbackReply>>()
  let listener: ChannelListener | null = null

  async function post(body: object, signal: AbortSignal): Promise<SentMessage> {
    const answer = sentSchema.safeParse(await graph.post(`${phoneNumberId}/messages`, body, signal))
    if (!answer.success) throw new ChannelFailure('unsure', 'WhatsApp accepted the message without an id')
    return { id: answer.data.messages[0]!.id }
  }

  async function receive({ body, headers }: CallbackRequest): Promise<CallbackReply> {
    if (appSecret === null || listener === null) return reply(503, 'this channel is not configured')
    if (!isSigned(body, headers['x-hub-signature-256'], appSecret.reveal())) {
      return reply(401, 'the signature is missing or wrong')
    }
    const read = readCallback(body, phoneNumberId, clock.now())
    if (read === null) return reply(400, 'this is not a webhook call of WhatsApp')
    try {
      for (const change of read.changes) listener.identityChanged?.(change)
      for (const message of read.messages) {
        keepLast(lastHeard, message.place.conversationId, message.id)
        await listener.received(message)
      }
    } catch {
      // Meta redelivers the whole call; messages that were persisted are recognized by their ids.
      return reply(500, 'the message could not be stored; send the webhook call again')
    }
    return reply(200, '')
  }

  /** Sets the command menu. Failures are ignored: the token may lack the permission, and the previous menu stays. */
  async function setMenu(): Promise<void> {
    if (menu.length === 0) return
    const commands = menu.slice(0, commandsMax).map(({ command, description }) => ({
      command_name: command,
      command_description: description.slice(0, descriptionMaxChars),
    }))
    await graph
      .post(`${phoneNumberId}/conversational_automation`, { commands }, ending.signal)
      .catch(() => {})
  }

  function greeted({ query, ...request }: CallbackRequest): CallbackReply {
    if (verifyToken === null) return reply(503, 'this channel is not configured')
    const challenge = handshake({ query, ...request }, verifyToken.reveal())
    return challenge === null ? reply(403, 'the verify token is wrong') : reply(200, challenge)
  }

  return {
    name: 'whatsapp',
    traits,
    start: async (given) => {
      given.stateChanged({ state: 'connecting', detail: '', repair: '' })
      for (let waitMs: number = greetAgainMs.least; ; waitMs = Math.min(greetAgainMs.most, waitMs * 2)) {
        ending.signal.throwIfAborted()
        try {
          await graph.get(`${phoneNumberId}?fields=display_phone_number`, ending.signal)
          break
        } catch (error) {
          ending.signal.throwIfAborted()
          const state = stateAfter(error)
          given.stateChanged(state)
          if (state.state === 'refused') throw error
          await clock.sleep(
            error instanceof ChannelFailure ? (error.retryAfterMs ?? waitMs) : waitMs,
            ending.signal,
          )
        }
      }
      listener = given
      void setMenu()
      given.stateChanged(appSecret === null ? unsigned : { state: 'connected', detail: '', repair: '' })
    },
    send: async (message, signal) => post(outgoingBody(message), signal),
    // Requests the URL of the file first, then the file.
    download: async (mediaId, maxBytes, signal) => {
      const path = `${encodeURIComponent(mediaId)}?phone_number_id=${phoneNumberId}`
      const found = fileSchema.safeParse(await graph.get(path, signal))
      if (!found.success) throw new ChannelFailure('gone', 'the file no longer exists at WhatsApp')
      const { url, file_size: size } = found.data
      if (size != null && size > maxBytes) throw tooLarge(maxBytes)
      return graph.download(url, maxBytes, signal)
    },
    upload: async ({ place, name, mediaType, bytes }, signal) => {
      const form = new FormData()
      form.set('messaging_product', 'whatsapp')
      form.set('type', mediaTypeOf(mediaType))
      form.set('file', new Blob([Buffer.from(bytes)], { type: mediaTypeOf(mediaType) }), name)
      const media = mediaSchema.safeParse(await graph.upload(`${phoneNumberId}/media`, form, signal))
      if (!media.success) throw new ChannelFailure('refused', 'WhatsApp returned no media id')
      return post(
        { ...addressed(place), type: 'document', document: { id: media.data.id, filename: name } },
        signal,
      )
    },
    showTyping: async ({ conversationId }) => {
      const last = lastHeard.get(conversationId)
      if (last === undefined) return
      const body = {
        messaging_product: 'whatsapp',
        status: 'read',
        message_id: last,
        typing_indicator: { type: 'text' },
      }
      await graph.post(`${phoneNumberId}/messages`, body, ending.signal)
    },
    receiveRequest: async (request) => {
      if (ending.signal.aborted) return reply(503, 'this channel is closed')
      if (request.method === 'GET') return greeted(request)
      const receiving = receive(request)
      underWay.add(receiving)
      return receiving.finally(() => underWay.delete(receiving))
    },
    close: async () => {
      ending.abort(new Error('the channel is closed'))
      await Promise.allSettled(underWay)
      listener = null
      await http.close()
    },
  }
}

function reply(status: number, body: string): CallbackReply {
  return { status, contentType: 'text/plain; charset=utf-8', body }
}

/** Returns the media type to send: WhatsApp accepts text files only as text/plain. */
function mediaTypeOf(mediaType: string): string {
  return /^(?:text\/|application\/(?:json|x-ndjson|xml|yaml))/.test(mediaType) ? 'text/plain' : mediaType
}

function keepLast(lastHeard: Map<string, string>, conversationId: string, id: string): void {
  lastHeard.delete(conversationId)
  lastHeard.set(conversationId, id)
  const [oldest] = lastHeard.keys()
  if (lastHeard.size > lastHeardMax && oldest !== undefined) lastHeard.delete(oldest)
}

function stateAfter(error: unknown): ChannelState {
  const detail = error instanceof ChannelFailure ? error.message : 'the first call failed'
  if (error instanceof ChannelFailure && (error.kind === 'refused' || error.kind === 'gone')) {
    const repair =
      'Create a permanent token of a system user with whatsapp_business_messaging, check the phone number id, and set both: flotilla channels add whatsapp'
    return { state: 'refused', detail, repair }
  }
  return {
    state: 'failing',
    detail,
    repair: 'Check that this machine reaches graph.facebook.com. The mesh retries automatically.',
  }
}

const unsigned: ChannelState = {
  state: 'failing',
  detail: 'no app secret is set, so incoming messages cannot be verified',
  repair:
    'Copy the app secret of your Meta app (App settings, Basic), and set it: flotilla channels add whatsapp',
}
