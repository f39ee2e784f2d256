import { backoffMs } from '@flotilla/protocol/backoff'
import type { Clock } from '@flotilla/protocol/clock'
import { Api, InputFile } from 'grammy'
import type { Update } from 'grammy/types'
import type { Secret } from '@flotilla/egress/credentials'
import { ChannelFailure } from '../../adapter.ts'
import type {
  ChannelAdapter,
  ChannelButton,
  ChannelListener,
  ChannelTraits,
  ConversationPlace,
} from '../../adapter.ts'
import { httpAgentThrough } from '@flotilla/foundation/platform'
import type { OutboundProxies } from '@flotilla/foundation/platform'
import { createMemoryMarks } from '../channel-marks.ts'
import type { ChannelMarks } from '../channel-marks.ts'
import { createPlatformHttp } from '../platform-http.ts'
import { createTelegramIds } from './message-ids.ts'
import type { TelegramIds } from './message-ids.ts'
import { createFetchFile } from './fetch-file.ts'
import { pollBackoff, pollUpdates, refused, stateAfter } from './poll-updates.ts'
import type { GrammySignal } from './poll-updates.ts'
import { readUpdate } from './read-update.ts'
import type { TelegramSelf } from './read-update.ts'
import { movedByError, movedByUpdate } from './moved-chat.ts'
import { telegramFailure } from './telegram-failure.ts'

export interface TelegramConfig {
  readonly proxies: OutboundProxies
  readonly token: Secret
  readonly clock: Clock
  /** Stores the id of the bot. Without marks, messages to a bot that replaces another may be dropped as repeated. */
  readonly marks?: ChannelMarks
  /** The commands for Telegram's menu: lower-case names without the slash. */
  readonly menu: readonly { readonly command: string; readonly description: string }[]
  /** The base URL of the Bot API, set by tests and by owners with their own Bot API server. */
  readonly apiRoot?: string
}

const publicRoot = 'https://api.telegram.org'
/** The time limit of one call, in seconds. A poll takes 30 seconds; a large file on a slow line takes longest. */
const callSeconds = 90
/** The maximum size of a response, in bytes. 50 updates of long messages are a few hundred kilobytes. */
const answerMaxBytes = 8 * 1024 * 1024
/** The maximum length of the description of a command in Telegram's menu, in characters. */
const descriptionCharsMax = 256
/** The maximum length of the name of a file that is sent, in characters. */
const fileNameCharsMax = 120

const traits: ChannelTraits = {
  messageCharsMax: 4096,
  editEveryMs: 1500,
  buttonsMax: 12,
  dropsRepeats: false,
  fileBytesMax: 50 * 1024 * 1024,
}

/** The Telegram adapter, over the Bot API with long polling. */
export function createTelegramAdapter(config: TelegramConfig): ChannelAdapter {
  const { token, clock, menu, proxies, marks = createMemoryMarks(), apiRoot = publicRoot } = config
  const protocol = apiRoot.startsWith('https:') ? 'https:' : 'http:'
  const agent = httpAgentThrough(proxies, protocol, { keepAlive: true })
  const api = new Api(token.reveal(), {
    apiRoot,
    timeoutSeconds: callSeconds,
    // Redirects are refused, so that data goes only to the configured address.
    baseFetchConfig: { agent, compress: true, size: answerMaxBytes, redirect: 'error' },
  })
  const http = createPlatformHttp(proxies)
  const download = createFetchFile({ api, http, root: `${apiRoot}/file/bot`, token })
  const ending = new AbortController()
  let polling: Promise<void> = Promise.resolve()
  let currentListener: ChannelListener | null = null
  let ids: TelegramIds | null = null

  function numberIn(chat: string, id: string | null): number | null {
    return id === null ? null : (ids?.numberIn(chat, id) ?? null)
  }

  function idOf(chat: string, messageNumber: number): string {
    return ids?.of(chat, messageNumber) ?? `${chat}:${messageNumber}`
  }

  /** Returns the bot's own user once Telegram answered. Rejects if the token is rejected. */
  async function greet(listener: ChannelListener): Promise<TelegramSelf> {
    const signal = ending.signal as GrammySignal
    for (let failures = 1; ; failures += 1) {
      ending.signal.throwIfAborted()
      try {
        const { id, username } = await api.getMe(signal)
        // Telegram refuses polls while a webhook is set.
        await api.deleteWebhook({ drop_pending_updates: false }, signal)
        ids = createTelegramIds(marks, id)
        return { id, username, ids }
      } catch (error) {
        ending.signal.throwIfAborted()
        const { state, waitMs } = stateAfter(error)
        listener.stateChanged(state)
        if (state === refused) throw new ChannelFailure('refused', refused.detail)
        await clock.sleep(waitMs ?? backoffMs(pollBackoff, failures), ending.signal)
      }
    }
  }

  /** Sets the command menu. Failures are ignored, because the menu is optional and the previous menu stays. */
  async function setMenu(): Promise<void> {
    const commands = menu.map(({ command, description }) => ({
      command,
      description: description.slice(0, descriptionCharsMax),
    }))
    await api.setMyCommands(commands, {}, ending.signal as GrammySignal).catch(() => {})
  }

  /** Runs a call to a place. If the group became a supergroup, reports that and repeats the call there. */
  async function callAtPlace<T>(
    place: ConversationPlace,
    signal: AbortSignal,
    ask: (conversationId: string, signal: GrammySignal) => Promise<T>,
  ): Promise<T> {
    return callApi(signal, async (signal) => {
      try {
        return await ask(place.conversationId, signal)
      } catch (error) {
        const moved = movedByError(error, place.conversationId)
        if (moved === null) throw error
        try {
          currentListener?.moved?.(moved)
        } catch {
          throw new ChannelFailure('unreachable', 'the new id of a group could not be stored')
        }
        return await ask(moved.to, signal)
      }
    })
  }

  async function take(update: Update, self: TelegramSelf, listener: ChannelListener): Promise<void> {
    const moved = movedByUpdate(update)
    if (moved !== null) return listener.moved?.(moved)
    const read = readOrPassOver(update, self, listener)
    if (read === null) return
    const { callbackId, ...message } = read
    await listener.received(message)
    // Clears the loading state of the pressed button. A failure is ignored.
    if (callbackId !== null)
      await api.answerCallbackQuery(callbackId, {}, ending.signal as GrammySignal).catch(() => {})
  }

  return {
    name: 'telegram',
    traits,
    start: async (listener) => {
      currentListener = listener
      listener.stateChanged({ state: 'connecting', detail: '', repair: '' })
      const self = await greet(listener)
      await setMenu()
      const deps = { api, clock, listener, take: (update: Update) => take(update, self, listener) }
      polling = pollUpdates(deps, ending.signal)
    },
    send: ({ place, text, buttons, replyToId }, signal) =>
      callAtPlace(place, signal, async (chat, signal) => {
        const repliedNumber = numberIn(chat, replyToId)
        const sent = await api.sendMessage(
          chat,
          text,
          {
            ...written(place, buttons),
            ...(repliedNumber === null
              ? {}
              : {
                  reply_parameters: {
                    message_id: repliedNumber,
                    allow_sending_without_reply: true,
                  },
                }),
          },
          signal,
        )
        return { id: idOf(chat, sent.message_id) }
      }),
    edit: ({ place, messageId, text, buttons }, signal) =>
      callAtPlace(place, signal, async (chat, signal) => {
        const editedNumber = numberIn(chat, messageId)
        if (editedNumber === null)
          throw new ChannelFailure(
            'gone',
            'the message belongs to another bot, or to the group before it became a supergroup',
          )
        const { message_thread_id: _thread, ...options } = written(place, buttons)
        await api.editMessageText(chat, editedNumber, text, options, signal).catch((error: unknown) => {
          if (!(error instanceof Error && error.message.includes('message is not modified'))) throw error
        })
      }),
    download,
    upload: ({ place, name, bytes }, signal) =>
      callAtPlace(place, signal, async (chat, signal) => {
        const document = new InputFile(bytes, plainName(name))
        const sent = await api.sendDocument(chat, document, threadOf(place), signal)
        return { id: idOf(chat, sent.message_id) }
      }),
    showTyping: async (place) => {
      await api.sendChatAction(place.conversationId, 'typing', threadOf(place), ending.signal as GrammySignal)
    },
    close: async () => {
      ending.abort(new Error('the channel is closed'))
      await polling
      await http.close()
      agent.destroy()
    },
  }
}

/** Reads an update, or reports it as skipped: an update of unknown form must not block later updates for ever. */
function readOrPassOver(update: Update, self: TelegramSelf, listener: ChannelListener) {
  try {
    return readUpdate(update, self)
  } catch {
    const detail = 'Telegram sent the update in an unknown form'
    listener.passedOver({ id: `update:${update.update_id}`, detail })
    return null
  }
}

/** Runs a call and converts errors of Telegram to `ChannelFailure`. An aborted signal throws its own reason. */
async function callApi<T>(signal: AbortSignal, ask: (signal: GrammySignal) => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  try {
    return await ask(signal as GrammySignal)
  } catch (error) {
    signal.throwIfAborted()
    throw telegramFailure(error)
  }
}

function written(place: ConversationPlace, buttons: readonly ChannelButton[]) {
  return {
    ...threadOf(place),
    parse_mode: 'HTML' as const,
    link_preview_options: { is_disabled: true },
    ...(buttons.length === 0
      ? {}
      : {
          reply_markup: {
            inline_keyboard: buttons.map(({ label, value }) => [{ text: label, callback_data: value }]),
          },
        }),
  }
}

function threadOf({ threadId }: ConversationPlace): { message_thread_id?: number } {
  return threadId === null ? {} : { message_thread_id: Number(threadId) }
}

/** Returns a safe file name, because grammY writes the name into a header without escaping. */
function plainName(name: string): string {
  return name.replace(/[^\p{L}\p{N}._-]/gu, '_').slice(-fileNameCharsMax)
}
