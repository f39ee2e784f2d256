/** Telegram, through grammY with long polling. */

export { createTelegramAdapter } from './telegram-adapter.ts'
export type { TelegramConfig } from './telegram-adapter.ts'
