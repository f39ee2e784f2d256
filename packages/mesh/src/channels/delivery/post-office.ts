import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '../../platform/index.ts'
import type { ChannelAdapter } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import { createRungWork } from '../work-when-rung.ts'
import type { LetterTable } from './letter-table.ts'
import type { SendLetter } from './send-letter.ts'

/** The longest sleep of a post office that nobody wakes, milliseconds. */
const idleMs = 30_000
/** After something that should not happen, milliseconds. */
const stumbleMs = 5000

export interface PostOffice {
  /** Letters were written. */
  wake(): void
  /** Sends what is due until the signal aborts; then those under way are waited for. */
  run(adapter: ChannelAdapter, signal: AbortSignal): Promise<void>
}

/**
 * Sends the letters of one channel: in each conversation one after the other, in their order; several conversations at once,
 * whoever has waited longest first, so that nobody's long answer holds up another's.
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
    // Those under way are among what is read.
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
            'a message to a channel met an error of ours; it is sent again after a pause',
          )
          letters.postpone(letter.id, clock.now() + stumbleMs, {
            certain: false,
            detail: 'the mesh stumbled; its log says over what',
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
