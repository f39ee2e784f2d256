import type { Clock } from '@flotilla/protocol/clock'
import type { RunState } from '@flotilla/protocol/run'
import type { ChannelAdapter, ConversationPlace } from '../adapter.ts'
import { conversationOf } from '../conversation.ts'
import type { RunPlaces } from './run-places.ts'

/** The interval at which the indicator is shown again, in milliseconds; platforms show it for a longer time. */
const typingEveryMs = 4000
/** Runs that are checked each time. */
const checkedMax = 500

/** Shows the typing indicator while an agent works for a person, until the signal aborts. */
export async function showTyping(
  deps: {
    readonly places: Pick<RunPlaces, 'open'>
    readonly stateOf: (runId: string) => RunState | null
    readonly clock: Clock
  },
  adapter: ChannelAdapter,
  signal: AbortSignal,
): Promise<void> {
  if (!adapter.showTyping) return
  const show = async (place: ConversationPlace) => adapter.showTyping?.(place)
  while (!signal.aborted) {
    const working = deps.places
      .open(checkedMax)
      .filter(({ channel, runId }) => channel === adapter.name && deps.stateOf(runId) === 'running')
    const places = new Map(working.map(({ place }) => [conversationOf(place), place]))
    // The indicator is optional, so its failures are ignored.
    await Promise.allSettled([...places.values()].map(show))
    await deps.clock.sleep(typingEveryMs, signal).catch(() => {})
  }
}
