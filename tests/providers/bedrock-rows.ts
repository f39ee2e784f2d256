import { one, plain } from './oddity.ts'
import { wires } from '../support/model-wires.ts'
import { amazonFrame } from '../support/bedrock-wire.ts'

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

const frame = (event: object): Buffer => Buffer.from(wires.bedrock.frame(event))
const flipped = (bytes: Buffer, at: number): Buffer => {
  const copy = Buffer.from(bytes)
  copy.writeUInt8(copy.readUInt8(at) ^ 0xff, at)
  return copy
}
const anyFrame = frame({ contentBlockDelta: { contentBlockIndex: 7, delta: { text: '?' } } })
/** Bytes that are no frame. */
const damaged = [
  ['a length that no frame has comes', flipped(anyFrame, 0)],
  ['a damaged checksum comes', flipped(anyFrame, anyFrame.length - 1)],
  ['a damaged header comes', flipped(anyFrame, 14)],
  ['a page comes', Buffer.from('<html><body>504 Gateway Time-out</body></html>')],
  ['a frame is cut off', anyFrame.subarray(0, 20)],
] as const

const delta = (piece: unknown, index = 0): object => ({
  contentBlockDelta: { contentBlockIndex: index, delta: piece },
})
const began = (start: object): object => ({ contentBlockStart: { contentBlockIndex: 1, start } })
const ended = [stopped('end_turn'), counted]
const called = (start: object, ...pieces: unknown[]): Uint8Array =>
  frames(began(start), ...pieces.map((piece) => delta(piece, 1)), stopped('tool_use'), counted)

/** Words, calls and ends of Bedrock in other shapes than those of its API. */
const shapes: readonly BinaryOddity[] = [
  bedrock('words are a list of texts', frames(delta({ text: ['Hel', 'lo'] }), ...ended), plain),
  bedrock('words are an object', frames(delta({ text: { text: 'Hello' } }), ...ended), plain),
  bedrock('words are an object of unknown members', frames(delta({ text: { x: { y: 1 } } }), ...ended), {
    problem: 'provider-unreadable',
  }),
  bedrock('words are a number', frames(delta({ text: 5 }), ...ended), { text: '5', end: 'stop' }),
  bedrock('a delta is a text', frames(delta('Hel'), delta('lo'), ...ended), plain),
  bedrock('words are in content', frames(delta({ content: 'Hello' }), ...ended), plain),
  bedrock('words are in the start of their block', frames(began({ text: 'Hello' }), ...ended), plain),
  bedrock('thinking is a text', frames(delta({ reasoningContent: 'hm' }), words, ...ended), plain),
  bedrock(
    'thinking is in reasoningText',
    frames(delta({ reasoningContent: { reasoningText: { text: 'hm' } } }), words, ...ended),
    plain,
  ),
  bedrock(
    'the input is arguments',
    called({ toolUse: { toolUseId: 't', name: 'look' } }, { toolUse: { arguments: '{"at":"a"}' } }),
    one,
  ),
  bedrock(
    'a call is complete in its start',
    called({ toolUse: { toolUseId: 't', name: 'look', input: { at: 'a' } } }),
    one,
  ),
  bedrock(
    'a call is complete in its start, as arguments',
    called({ toolUse: { toolUseId: 't', name: 'look', arguments: { at: 'a' } } }),
    one,
  ),
  bedrock(
    'a call is a toolCall',
    called({ toolCall: { id: 't', name: 'look', arguments: '{"at":"a"}' } }),
    one,
  ),
  bedrock(
    'a call is a tool_use',
    called({ tool_use: { id: 't', name: 'look' } }, { tool_use: { input: '{"at":"a"}' } }),
    one,
  ),
  bedrock(
    'a call is complete in a delta',
    frames(
      delta({ toolUse: { toolUseId: 't', name: 'look', input: { at: 'a' } } }, 1),
      stopped('tool_use'),
      counted,
    ),
    one,
  ),
  bedrock(
    'the reason is written with underscores',
    frames(words, { messageStop: { stop_reason: 'max_tokens' } }, counted),
    { text: 'Hello', end: 'length' },
  ),
  bedrock(
    'the reason is an object',
    frames(words, { messageStop: { stopReason: { type: 'max_tokens' } } }, counted),
    { text: 'Hello', end: 'length' },
  ),
  bedrock(
    'counts of the usage are texts',
    frames(words, stopped('end_turn'), { metadata: { usage: { inputTokens: '10', outputTokens: '5' } } }),
    plain,
  ),
]

/** Binary streams of Bedrock, and what may come in their place. */
export const bedrockStreams: readonly BinaryOddity[] = [
  ...shapes,
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
  ...damaged.flatMap(([what, bytes]) => [
    bedrock(
      `${what} behind the end`,
      Buffer.concat([frames(words, stopped('end_turn'), counted), bytes]),
      plain,
    ),
    bedrock(
      `${what} between the end and the usage`,
      Buffer.concat([frames(words, stopped('end_turn')), bytes, frame(counted)]),
      plain,
    ),
    bedrock(`${what} behind a call`, Buffer.concat([frames(...lookCall, stopped('tool_use')), bytes]), one),
    bedrock(`${what} before the end`, Buffer.concat([frames(words), bytes]), {
      problem: what.startsWith('a frame is cut') ? 'upstream-failed' : 'provider-unreadable',
    }),
  ]),
  bedrock(
    'an error comes behind the end',
    Buffer.concat([
      frames(words, stopped('end_turn'), counted),
      Buffer.from(wires.bedrock.failure('overloaded')),
    ]),
    plain,
  ),
  bedrock(
    'the usage is a text behind the end',
    frames(words, stopped('end_turn'), { metadata: { usage: 'many' } }),
    plain,
  ),
  bedrock('the usage comes without an end', frames(words, counted), plain),
  bedrock(
    'a delta is of an unknown kind',
    frames(
      { contentBlockDelta: { contentBlockIndex: 0, delta: { hologram: 'x' } } },
      words,
      stopped('end_turn'),
      counted,
    ),
    plain,
  ),
  bedrock(
    'a block and the end have no index and no reason',
    frames({ contentBlockDelta: { delta: { text: 'Hello' } } }, { messageStop: {} }, counted),
    plain,
  ),
  bedrock(
    'the input is an object and its block has no start',
    frames(
      { contentBlockDelta: { contentBlockIndex: 1, delta: { toolUse: { input: { at: 'a' } } } } },
      stopped('tool_use'),
    ),
    { calls: [['unnamed_call', '{"at":"a"}']], end: 'tool_calls' },
  ),
  bedrock(
    'three calls have no id and the index 0',
    frames(
      ...['a', 'b', 'c'].flatMap((at) => [
        { contentBlockStart: { contentBlockIndex: 0, start: { toolUse: { name: 'look' } } } },
        {
          contentBlockDelta: {
            contentBlockIndex: 0,
            delta: { toolUse: { input: JSON.stringify({ at }) } },
          },
        },
      ]),
      stopped('tool_use'),
      counted,
    ),
    {
      calls: ['a', 'b', 'c'].map((at) => ['look', JSON.stringify({ at })]),
      end: 'tool_calls',
    },
  ),
  bedrock(
    'an exception has a name that the API does not have',
    Buffer.concat([
      frames(words),
      amazonFrame({ coffeeMachineException: { message: 'out of beans' } }, 'exception'),
    ]),
    { problem: 'upstream-failed', says: 'out of beans' },
  ),
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
