import type { ChannelAdapter, ChannelState, ReceivedMessage } from '../../inbound/src/channels/adapter.ts'

/** Records the messages that an adapter receives from now on, and the states that it reports. */
export function recordReceived(adapter: ChannelAdapter) {
  const heard: ReceivedMessage[] = []
  const states: ChannelState[] = []
  const starting = adapter.start({
    received: async (message) => void heard.push(message),
    stateChanged: (state) => void states.push(state),
    passedOver: () => {},
  })
  // The test that awaits `starting` sees the failure; this only prevents an unhandled rejection.
  starting.catch(() => {})
  return { heard, states, starting }
}
