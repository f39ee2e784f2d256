import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/foundation/platform'
import type { ChannelAdapter } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import { createRungWork } from '../work-when-rung.ts'
import type { LetterTable } from '../messages/letter-table.ts'
import type { SendLetter } from './send-letter.ts'

/** How long the loop sleeps at most without a wake-up, in milliseconds. */
const idleMs = 30_000
/** The delay after an internal error, in milliseconds. */
const internalErrorDelayMs = 5000

export interface PostOffice {
  /** New letters were written. */
  wake(): void
  /** Sends due letters until the signal aborts, then waits for letters in progress. */
  run(adapter: ChannelAdapter, signal: AbortSignal): Promise<void>
}

/**
 * Sends the letters of one channel. Letters of one conversation are sent in order; several conversations are served
 * in parallel, the longest waiting first, so that a long answer does not delay other people.
 */
export function createPostOffice(deps: {
  readonly letters: LetterTable
  readonly send: SendLetter
  readonly clock: Clock
  readonly log: Log
}): PostOffice {
  const { letters, clock, log } = deps
  const underWay = new Map<string, Promise<void>>()
  const loop = createRungWork(clock)

  function begin(adapter: ChannelAdapter, signal: AbortSignal): number {
    const now = clock.now()
    // The result includes letters in progress, hence twice the limit.
    const next = letters
      .next(adapter.name, 2 * channelLimits.conversationsAtOnce)
      .filter(({ conversation }) => !underWay.has(conversation))
    for (const letter of next) {
      if (letter.dueAt > now || underWay.size >= channelLimits.conversationsAtOnce) break
      const work = deps
        .send(adapter, letter, signal)
        .catch(async (error: unknown) => {
          log.error(
            { channel: adapter.name, err: error },
            'internal error while sending to a channel; retrying after a delay',
          )
          letters.postpone(letter.id, clock.now() + internalErrorDelayMs, {
            certain: false,
            detail: 'internal error; see the log of the mesh',
          })
        })
        .finally(() => {
          underWay.delete(letter.conversation)
          loop.wake()
        })
      underWay.set(letter.conversation, work)
    }
    const later = next.find(({ dueAt }) => dueAt > now)
    return later ? Math.min(idleMs, later.dueAt - now) : idleMs
  }

  return {
    wake: loop.wake,
    run: async (adapter, signal) => {
      await loop.run(() => begin(adapter, signal), signal)
      await Promise.all(underWay.values())
    },
  }
}
