/** Discord, through discord.js. */

export { createDiscordAdapter } from './discord-adapter.ts'
export type { DiscordOptions } from './discord-adapter.ts'
export type { DiscordCommand } from './slash-commands.ts'
