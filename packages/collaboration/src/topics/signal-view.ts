import type { SignalView } from '@flotilla/protocol/topics-api'
import type { UnreadSignal } from './topic-table.ts'

/** Returns the wire format of a signal. Pure. */
export function signalView({ id, topic, from, at, text, data }: UnreadSignal): SignalView {
  return { id, topic, from, at, text, data }
}
