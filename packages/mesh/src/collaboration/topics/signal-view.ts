import type { SignalView } from '@flotilla/protocol/topics-api'
import type { UnreadSignal } from './topic-table.ts'

/** A signal in the words of the wire. Pure. */
export function signalView({ id, topic, from, at, text, data }: UnreadSignal): SignalView {
  return { id, topic, from, at, text, data }
}
