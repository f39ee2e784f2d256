import * as z from 'zod'
import type { DiscordRest } from './discord-rest.ts'

export interface DiscordCommand {
  /** The name of the command without its `/`: 1 to 32 characters of a-z, 0-9, `_` and `-`. */
  readonly name: string
  /** The description that users see, at most 100 characters. */
  readonly description: string
  /** The description of the argument; null if the command has no argument. */
  readonly argument: string | null
}

/**
 * Discord's limits for slash commands: the number of commands, and the characters of a description and of an
 * argument.
 */
const commandsMax = 100
const descriptionMaxChars = 100
const argumentMaxChars = 1800

const chatInput = 1
const textOption = 3
/** Discord's context types in which the commands appear: guilds and direct conversations with the bot. */
const contexts = [0, 1]

/** Replaces the command menu. Rejects with a `ChannelFailure`. */
export async function registerCommands(
  rest: DiscordRest,
  menu: { readonly applicationId: string; readonly commands: readonly DiscordCommand[] },
  signal: AbortSignal,
): Promise<void> {
  const body = menu.commands.slice(0, commandsMax).map(({ name, description, argument }) => ({
    type: chatInput,
    name,
    description: description.slice(0, descriptionMaxChars),
    contexts,
    options:
      argument === null
        ? []
        : [
            {
              type: textOption,
              name: 'text',
              description: argument.slice(0, descriptionMaxChars),
              required: false,
              max_length: argumentMaxChars,
            },
          ],
  }))
  await rest.ask(
    { method: 'put', path: `/applications/${menu.applicationId}/commands`, body },
    z.unknown(),
    signal,
  )
}
