/** Discord, by discord.js. */

export type { ChannelMarks } from './channel-marks.ts'
export { createDiscordAdapter } from './discord-adapter.ts'
export type { DiscordOptions } from './discord-adapter.ts'
export type { DiscordCommand } from './slash-commands.ts'
