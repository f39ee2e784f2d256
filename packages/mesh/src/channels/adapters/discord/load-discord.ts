import type * as Discord from 'discord.js'

/**
 * Loads discord.js at the first call. In the bundle, a dynamic import of a CommonJS module has only a default export.
 */
export async function loadDiscord(): Promise<typeof Discord> {
  const loaded = await import('discord.js')
  return 'default' in loaded ? (loaded.default as typeof Discord) : loaded
}
