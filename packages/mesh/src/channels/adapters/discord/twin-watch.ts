import type { Clock } from '@flotilla/protocol/clock'
import type { ChannelState } from '../../adapter.ts'
import { messageSchema } from './discord-wire.ts'
import { spokenTypes } from './read-message.ts'

/** So long the answer about a message that we sent may take to come behind the message itself, milliseconds. */
export const answerMaxMs = 15_000
/** Messages of our own name that are looked at together. */
const checkedMax = 100

interface TwinWatchDeps {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly ourUserId: () => string
  readonly mayBeOurs: (message: { readonly id: string; readonly nonce: string | null }) => boolean
  readonly stateChanged: (state: ChannelState) => void
}

/**
 * Discord tells nobody how many programs listen with one token, and sends everything to each. Another one is known by what it
 * does: a message comes that bears our name, and nobody here sent it.
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
      detail: `another program writes with this bot's token (last seen at ${time} UTC): both hear, and both answer`,
      repair:
        'End the other one, or make a bot of its own for this fleet at discord.com/developers/applications.',
    })
  }

  return {
    /** A message came, of whoever. */
    came: (data: unknown): void => {
      const read = messageSchema.safeParse(data)
      if (!read.success || underWay >= checkedMax) return
      const { id, type, author, webhook_id: webhookId, nonce } = read.data
      // Answers to commands are sent by a web-hook of the interaction. What Discord itself says of us bears our name too: that
      // we joined a guild, or a thread.
      const isWritten = spokenTypes.has(type) && !webhookId
      if (isWritten && author.id === ourUserId()) void check({ id, nonce: nonce ?? null })
    },
  }
}
