import * as z from 'zod'
import type { ReceivedMessage } from '../../adapter.ts'
import type { EventLanes } from '../event-lanes.ts'
import type { DiscordChannels } from './discord-channels.ts'
import type { DiscordRest } from './discord-rest.ts'
import type { DiscordInteraction } from './discord-wire.ts'
import { isCommand, readInteraction } from './read-message.ts'

/** Answers that Discord knows: «thinks», for a command, and none that can be seen, for a button. */
const deferredReply = 5
const deferredUpdate = 6
/** For the eyes of whoever gave the command alone. */
const ephemeral = 64

const lostWords = 'This could not be kept at the moment. Please give it again in a minute.'

interface InteractionDeps {
  readonly rest: DiscordRest
  readonly lanes: EventLanes
  readonly channels: DiscordChannels
  readonly signal: AbortSignal
  readonly received: (message: ReceivedMessage) => Promise<void>
}

/**
 * Commands and buttons. Discord wants an answer within three seconds, and never sends one again: so «thinks» is said at
 * once, and in its place, when the message stands, what was given; or that it could not be kept.
 */
export function createInteractions({ rest, lanes, channels, signal, received }: InteractionDeps) {
  async function answer(interaction: DiscordInteraction): Promise<void> {
    const body = isCommand(interaction)
      ? { type: deferredReply, data: { flags: ephemeral } }
      : { type: deferredUpdate }
    const path = `/interactions/${interaction.id}/${interaction.token}/callback` as const
    await rest.ask({ method: 'post', path, body, auth: false }, z.unknown(), signal)
  }

  /** A failure of it is nobody's concern: the message stands, or it was told as well as could be. */
  async function say(interaction: DiscordInteraction, content: string): Promise<void> {
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
      await say(interaction, lostWords)
      return
    }
    await answered
    if (message && isCommand(interaction)) await say(interaction, message.text)
  }

  return {
    came: (interaction: DiscordInteraction): void => {
      if (signal.aborted) return
      const isTaken = lanes.run(interaction.channel_id, () => take(interaction))
      if (!isTaken)
        void answer(interaction).then(
          () => say(interaction, lostWords),
          () => {},
        )
    },
  }
}
