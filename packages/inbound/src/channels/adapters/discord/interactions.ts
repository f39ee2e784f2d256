import * as z from 'zod'
import type { ReceivedMessage } from '../../adapter.ts'
import type { EventLanes } from '../event-lanes.ts'
import type { DiscordChannels } from './discord-channels.ts'
import type { DiscordRest } from './discord-rest.ts'
import type { DiscordInteraction } from './discord-wire.ts'
import { isCommand, readInteraction } from './read-message.ts'

/** Discord's response types: for a command a "thinking" state, for a button no visible change. */
const deferredReply = 5
const deferredUpdate = 6
/** The message flag that shows a reply only to the user of the command. */
const ephemeral = 64

const lostWords = 'This could not be stored. Please send it again in a minute.'

interface InteractionDeps {
  readonly rest: DiscordRest
  readonly lanes: EventLanes
  readonly channels: DiscordChannels
  readonly signal: AbortSignal
  readonly received: (message: ReceivedMessage) => Promise<void>
}

/**
 * Handles commands and buttons. Discord requires a response within three seconds and never repeats
 * an interaction. The adapter therefore responds "thinking" at once. It replaces this response with
 * the command's text when the message is persisted, or with an error.
 */
export function createInteractions({ rest, lanes, channels, signal, received }: InteractionDeps) {
  async function answer(interaction: DiscordInteraction): Promise<void> {
    const body = isCommand(interaction)
      ? { type: deferredReply, data: { flags: ephemeral } }
      : { type: deferredUpdate }
    const path = `/interactions/${interaction.id}/${interaction.token}/callback` as const
    await rest.ask({ method: 'post', path, body, auth: false }, z.unknown(), signal)
  }

  /** Shows a text to the user of an interaction. Ignores failures, because the text is only a best effort. */
  async function respond(interaction: DiscordInteraction, content: string): Promise<void> {
    const { application_id: applicationId, token } = interaction
    const body = { content, flags: ephemeral, allowed_mentions: { parse: [] } }
    await rest
      .ask(
        isCommand(interaction)
          ? {
              method: 'patch',
              path: `/webhooks/${applicationId}/${token}/messages/@original`,
              body,
              auth: false,
            }
          : { method: 'post', path: `/webhooks/${applicationId}/${token}`, body, auth: false },
        z.unknown(),
        signal,
      )
      .catch(() => {})
  }

  async function take(interaction: DiscordInteraction): Promise<void> {
    const answered = answer(interaction).catch(() => {})
    let message: ReceivedMessage | null = null
    try {
      message = readInteraction(interaction, await channels.find(interaction.channel_id, signal))
      signal.throwIfAborted()
      if (message) await received(message)
    } catch {
      await answered
      await respond(interaction, lostWords)
      return
    }
    await answered
    if (message && isCommand(interaction)) await respond(interaction, message.text)
  }

  return {
    came: (interaction: DiscordInteraction): void => {
      if (signal.aborted) return
      const isTaken = lanes.run(interaction.channel_id, () => take(interaction))
      if (!isTaken)
        void answer(interaction).then(
          () => respond(interaction, lostWords),
          () => {},
        )
    },
  }
}
