import type { ChannelMarks } from '../channel-marks.ts'

const accountKey = 'telegram:account'

/** The ids of messages as this channel stores them. */
export interface TelegramIds {
  readonly of: (chat: number | string, messageNumber: number) => string
  /** Returns Telegram's number of a message in this chat; null for another chat, and for a message of another bot. */
  readonly numberIn: (chat: string, id: string) => number | null
}

/**
 * Telegram numbers the messages of a private chat for each bot from 1. If an owner replaces the bot, the ids of the
 * new bot must differ from stored ones, or its first messages would be dropped as repeated. Ids of the first bot have
 * no suffix; ids of any other bot end with the id of the bot.
 */
export function createTelegramIds(marks: ChannelMarks, botId: number): TelegramIds {
  const first = marks.read(accountKey) ?? String(botId)
  // Marks of a silent channel expire, so each start writes it again.
  marks.write(accountKey, first)
  const suffix = first === String(botId) ? '' : `@${botId}`
  const idOf = (chat: number | string, messageNumber: number) => `${chat}:${messageNumber}${suffix}`
  return {
    of: idOf,
    numberIn: (chat, id) => {
      const messageNumber = Number(/^-?\d+:(\d{1,15})(?:@\d+)?$/.exec(id)?.[1] ?? 'none')
      return id === idOf(chat, messageNumber) ? messageNumber : null
    },
  }
}
