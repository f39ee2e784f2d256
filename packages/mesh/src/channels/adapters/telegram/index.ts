/** Telegram, by grammY and long polling. */

export { createTelegramAdapter } from './telegram-adapter.ts'
export type { TelegramConfig } from './telegram-adapter.ts'
