import type { Clock } from '@flotilla/protocol/clock'
import type { ChannelState } from '../../adapter.ts'
import { messageSchema } from './discord-wire.ts'
import { spokenTypes } from './read-message.ts'

/** By how much the API response for a sent message may follow its gateway event, in milliseconds. */
export const answerMaxMs = 15_000
/** Messages under the bot's name that are checked at the same time. */
const checkedMax = 100

interface TwinWatchDeps {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly ourUserId: () => string
  readonly mayBeOurs: (message: { readonly id: string; readonly nonce: string | null }) => boolean
  readonly stateChanged: (state: ChannelState) => void
}

/**
 * Detects another program that uses the same token. Discord sends all events to every connection and does not report
 * their number. The sign of another program is a message under the bot's name that this process did not send.
 */
export function createTwinWatch({ clock, signal, ourUserId, mayBeOurs, stateChanged }: TwinWatchDeps) {
  let underWay = 0

  async function check(message: { readonly id: string; readonly nonce: string | null }): Promise<void> {
    underWay++
    await clock.sleep(answerMaxMs, signal).catch(() => {})
    underWay--
    if (signal.aborted || mayBeOurs(message)) return
    const time = new Date(clock.now()).toISOString().slice(11, 16)
    stateChanged({
      state: 'connected',
      detail: `another program uses this bot's token (last seen at ${time} UTC), so both answer`,
      repair:
        'Stop the other program, or create a separate bot for this fleet at discord.com/developers/applications.',
    })
  }

  return {
    /** Called for a message of any author. */
    came: (data: unknown): void => {
      const read = messageSchema.safeParse(data)
      if (!read.success || underWay >= checkedMax) return
      const { id, type, author, webhook_id: webhookId, nonce } = read.data
      // Responses to commands are sent through a webhook of the interaction. System messages, such as the bot's
      // joining a guild or thread, also bear the bot's name.
      const isWritten = spokenTypes.has(type) && !webhookId
      if (isWritten && author.id === ourUserId()) void check({ id, nonce: nonce ?? null })
    },
  }
}
