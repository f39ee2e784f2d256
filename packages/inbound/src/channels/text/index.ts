/** Converts the text of agents to each platform's markup and splits it into messages. Pure. */

export { channelCharsMax, createPacedSplit } from './split-text.ts'
export type { SplitChannelText, SplitText, TextToSplit } from './split-text.ts'
