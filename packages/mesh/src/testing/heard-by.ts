import type { ChannelAdapter, ChannelState, ReceivedMessage } from '../channels/adapter.ts'

/** What an adapter hears from now on, and the states that it tells of. */
export function heardBy(adapter: ChannelAdapter) {
  const heard: ReceivedMessage[] = []
  const states: ChannelState[] = []
  const starting = adapter.start({
    received: async (message) => void heard.push(message),
    stateChanged: (state) => void states.push(state),
    passedOver: () => {},
  })
  // Whoever waits for it hears of what went wrong.
  starting.catch(() => {})
  return { heard, states, starting }
}
