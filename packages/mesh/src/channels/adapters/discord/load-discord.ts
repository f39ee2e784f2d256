import type * as Discord from 'discord.js'

/** discord.js, from the first call on. Bundled, a late import of a module of the older form has nothing but its default. */
export async function loadDiscord(): Promise<typeof Discord> {
  const loaded = await import('discord.js')
  return 'default' in loaded ? (loaded.default as typeof Discord) : loaded
}
