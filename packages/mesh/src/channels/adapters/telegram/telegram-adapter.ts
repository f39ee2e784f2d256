import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { Clock } from '@flotilla/protocol/clock'
import { Api, InputFile } from 'grammy'
import type { Update } from 'grammy/types'
import type { Secret } from '../../../credentials/index.ts'
import { ChannelFailure } from '../../adapter.ts'
import type {
  ChannelAdapter,
  ChannelButton,
  ChannelHearing,
  ChannelTraits,
  ConversationPlace,
} from '../../adapter.ts'
import { createPlatformHttp } from '../platform-http.ts'
import { createFetchFile } from './fetch-file.ts'
import { backOff, pollUpdates, refused, stateAfter } from './poll-updates.ts'
import type { GrammySignal } from './poll-updates.ts'
import { readUpdate } from './read-update.ts'
import type { TelegramSelf } from './read-update.ts'
import { movedByError, movedByUpdate } from './moved-chat.ts'
import { telegramFailure } from './telegram-failure.ts'

export interface TelegramConfig {
  readonly token: Secret
  readonly clock: Clock
  /** What stands in Telegram's own menu of commands: lower-case names without the slash. */
  readonly menu: readonly { readonly command: string; readonly description: string }[]
  /** Only tests and owners of a server of their own need another than Telegram's. */
  readonly apiRoot?: string
}

const publicRoot = 'https://api.telegram.org'
/** For one call; a poll takes half of it, a large file on a slow line most. */
const callSeconds = 90
/** Of one answer: 50 updates of long messages are a few hundred kilobytes, bytes. */
const answerMaxBytes = 8 * 1024 * 1024
const descriptionCharsMax = 256
const fileNameCharsMax = 120

const traits: ChannelTraits = {
  messageCharsMax: 4096,
  editEveryMs: 1500,
  buttonsMax: 12,
  dropsRepeats: false,
  fileBytesMax: 50 * 1024 * 1024,
}

/** Telegram's Bot API by long polling. */
export function createTelegramAdapter(config: TelegramConfig): ChannelAdapter {
  const { token, clock, menu, apiRoot = publicRoot } = config
  const agent = apiRoot.startsWith('https:')
    ? new HttpsAgent({ keepAlive: true })
    : new HttpAgent({ keepAlive: true })
  const api = new Api(token.reveal(), {
    apiRoot,
    timeoutSeconds: callSeconds,
    // What people are told goes where the owner said, and nowhere from there.
    baseFetchConfig: { agent, compress: true, size: answerMaxBytes, redirect: 'error' },
  })
  const http = createPlatformHttp()
  const download = createFetchFile({ api, http, root: `${apiRoot}/file/bot`, token })
  const ending = new AbortController()
  let polling: Promise<void> = Promise.resolve()
  let heardBy: ChannelHearing | null = null

  /** Resolves once Telegram answered; rejects where it does not accept the token. */
  async function greet(hearing: ChannelHearing): Promise<TelegramSelf> {
    const signal = ending.signal as GrammySignal
    for (let failures = 1; ; failures += 1) {
      ending.signal.throwIfAborted()
      try {
        const { id, username } = await api.getMe(signal)
        // While a webhook is set, polls are refused.
        await api.deleteWebhook({ drop_pending_updates: false }, signal)
        return { id, username }
      } catch (error) {
        ending.signal.throwIfAborted()
        const { state, waitMs } = stateAfter(error)
        hearing.stateChanged(state)
        if (state === refused) throw new ChannelFailure('refused', refused.detail)
        await clock.sleep(waitMs ?? backOff(failures), ending.signal)
      }
    }
  }

  /** The menu is a help and no need: Telegram keeps the one before where this fails. */
  async function setMenu(): Promise<void> {
    const commands = menu.map(({ command, description }) => ({
      command,
      description: description.slice(0, descriptionCharsMax),
    }))
    await api.setMyCommands(commands, {}, ending.signal as GrammySignal).catch(() => {})
  }

  /** Calls for a place; where its group became a supergroup, the mesh is told and the supergroup is called. */
  async function askedAt<T>(
    place: ConversationPlace,
    signal: AbortSignal,
    ask: (conversationId: string, signal: GrammySignal) => Promise<T>,
  ): Promise<T> {
    return asked(signal, async (signal) => {
      try {
        return await ask(place.conversationId, signal)
      } catch (error) {
        const moved = movedByError(error, place.conversationId)
        if (moved === null) throw error
        try {
          heardBy?.moved?.(moved)
        } catch {
          throw new ChannelFailure('unreachable', 'the new id of a group could not be written down')
        }
        return await ask(moved.to, signal)
      }
    })
  }

  async function take(update: Update, self: TelegramSelf, hearing: ChannelHearing): Promise<void> {
    const moved = movedByUpdate(update)
    if (moved !== null) return hearing.moved?.(moved)
    const read = readOrPassOver(update, self, hearing)
    if (read === null) return
    const { callbackId, ...message } = read
    await hearing.received(message)
    // Takes the waiting mark off the button; nobody is harmed where it stays.
    if (callbackId !== null)
      await api.answerCallbackQuery(callbackId, {}, ending.signal as GrammySignal).catch(() => {})
  }

  return {
    name: 'telegram',
    traits,
    start: async (hearing) => {
      heardBy = hearing
      hearing.stateChanged({ state: 'connecting', detail: '', repair: '' })
      const self = await greet(hearing)
      await setMenu()
      const deps = { api, clock, hearing, take: (update: Update) => take(update, self, hearing) }
      polling = pollUpdates(deps, ending.signal)
    },
    send: ({ place, text, buttons, replyToId }, signal) =>
      askedAt(place, signal, async (chat, signal) => {
        const sent = await api.sendMessage(
          chat,
          text,
          {
            ...written(place, buttons),
            ...(replyToId === null || !isMessageIn(chat, replyToId)
              ? {}
              : {
                  reply_parameters: {
                    message_id: messageNumber(replyToId),
                    allow_sending_without_reply: true,
                  },
                }),
          },
          signal,
        )
        return { id: `${chat}:${sent.message_id}` }
      }),
    edit: ({ place, messageId, text, buttons }, signal) =>
      askedAt(place, signal, async (chat, signal) => {
        if (!isMessageIn(chat, messageId))
          throw new ChannelFailure('gone', 'the message is in the group that became a supergroup')
        const { message_thread_id: _thread, ...options } = written(place, buttons)
        await api
          .editMessageText(chat, messageNumber(messageId), text, options, signal)
          .catch((error: unknown) => {
            if (!(error instanceof Error && error.message.includes('message is not modified'))) throw error
          })
      }),
    download,
    upload: ({ place, name, bytes }, signal) =>
      askedAt(place, signal, async (chat, signal) => {
        const document = new InputFile(bytes, plainName(name))
        const sent = await api.sendDocument(chat, document, threadOf(place), signal)
        return { id: `${chat}:${sent.message_id}` }
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

/** An update of another form than Telegram's page has it never becomes readable, and must not hold up those behind it. */
function readOrPassOver(update: Update, self: TelegramSelf, hearing: ChannelHearing) {
  try {
    return readUpdate(update, self)
  } catch {
    const detail = 'Telegram sent it in a form that is not known'
    hearing.passedOver({ id: `update:${update.update_id}`, detail })
    return null
  }
}

/** What Telegram answers becomes a `ChannelFailure`; who gives up hears its own reason. */
async function asked<T>(signal: AbortSignal, ask: (signal: GrammySignal) => Promise<T>): Promise<T> {
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

/** Numbers of messages begin anew in a supergroup, so that one of the group before is none there. */
function isMessageIn(chat: string, id: string): boolean {
  return /^-?\d+:\d+$/.test(id) && id.startsWith(`${chat}:`)
}

function messageNumber(id: string): number {
  return Number(id.slice(id.indexOf(':') + 1))
}

/** grammY writes a name into a header as it is. */
function plainName(name: string): string {
  return name.replace(/[^\p{L}\p{N}._-]/gu, '_').slice(-fileNameCharsMax)
}
