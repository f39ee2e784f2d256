import { wires } from '../support/model-wires.ts'
import { one, plain } from './native-events.ts'
import type { NativeOddity } from './native-events.ts'

/** A stream whose bytes are no text. */
export type BinaryOddity = Omit<NativeOddity, 'wire'> & {
  readonly wire: string | Uint8Array
  /** Omitted if it is the usual content type of the wire format. */
  readonly contentType?: string
}

const frames = (...events: object[]): Uint8Array =>
  Buffer.concat(
    [{ messageStart: { role: 'assistant' } }, ...events].map((event) =>
      Buffer.from(wires.bedrock.frame(event)),
    ),
  )
type Row = readonly [
  what: string,
  wire: string | Uint8Array,
  normal: NativeOddity['normal'],
  contentType?: string,
]
const bedrock = (...[what, wire, normal, contentType]: Row): BinaryOddity => ({
  what,
  source: 'docs.aws.amazon.com, Amazon Bedrock API reference, ConverseStream',
  kind: 'bedrock',
  wire,
  normal,
  ...(contentType === undefined ? {} : { contentType }),
})
const words = { contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'Hello' } } }
const lookCall = [
  { contentBlockStart: { contentBlockIndex: 1, start: { toolUse: { toolUseId: 't1', name: 'look' } } } },
  { contentBlockDelta: { contentBlockIndex: 1, delta: { toolUse: { input: '{"at":"a"}' } } } },
]
const stopped = (stopReason: string): object => ({ messageStop: { stopReason } })
const counted = { metadata: { usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 } } }

/** Binary streams of Bedrock, and what may come in their place. */
export const bedrockStreams: readonly BinaryOddity[] = [
  bedrock(
    'an event of an unknown kind comes',
    frames({ hologram: {} }, words, stopped('end_turn'), counted),
    plain,
  ),
  bedrock('there is no usage', frames(words, stopped('end_turn')), plain),
  bedrock(
    'the window of the model is exceeded',
    frames(words, stopped('model_context_window_exceeded'), counted),
    {
      text: 'Hello',
      end: 'length',
    },
  ),
  bedrock('a guardrail ends it', frames(words, stopped('guardrail_intervened'), counted), {
    text: 'Hello',
    end: 'content_filter',
  }),
  bedrock(
    'a call ends with end_turn and its block has no stop',
    frames(words, ...lookCall, stopped('end_turn'), counted),
    {
      ...one,
      text: 'Hello',
    },
  ),
  bedrock('the output cannot be read', frames(words, stopped('malformed_model_output'), counted), {
    problem: 'upstream-failed',
    says: 'malformed_model_output',
  }),
  bedrock('it breaks off', frames(words), { problem: 'upstream-failed', says: 'early' }),
  bedrock(
    'an error as JSON replaces the stream',
    JSON.stringify({ message: 'Too many tokens, please wait before trying again.' }),
    { problem: 'upstream-failed', says: 'Too many tokens' },
    'application/json',
  ),
  bedrock(
    'a page replaces the stream',
    '<html><body>Sign in to the proxy</body></html>',
    { problem: 'provider-unreadable', says: 'Sign in to the proxy' },
    'text/html',
  ),
]
