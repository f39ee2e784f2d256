import { channelAdapterConformance } from '../../inbound/src/channels/adapter.conformance.ts'
import { createFakeAdapter } from './fake-channel.ts'

const places = {
  alone: { conversationId: '1000', threadId: null, isPrivate: true },
  group: { conversationId: '-2000', threadId: null, isPrivate: false },
}

for (const [name, traits] of [
  ['fake', {}],
  ['fake without edits and memory', { editEveryMs: null, dropsRepeats: false }],
] as const) {
  channelAdapterConformance(
    name,
    async () => ({ ...createFakeAdapter(traits), places, close: async () => {} }),
    { sendsAgain: true },
  )
}
