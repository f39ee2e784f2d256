/** What agents say, in the spelling of each platform and cut to its messages. Pure. */

export { channelCharsMax, createPacedSplit } from './split-text.ts'
export type { SplitChannelText, SplitText, TextToSplit } from './split-text.ts'
