import { one, plain } from './oddity.ts'
import { anthropic, close, delta, ended, json, open, start, stop, text, tool } from './native-events.ts'
import type { NativeOddity } from './native-events.ts'

const github = (thread: string) => `https://github.com/${thread}`
const other = (id: string): string =>
  start().replace('msg_1', id).replace('"output_tokens":1', '"output_tokens":2')
/** Streams of servers with Anthropic's API, as their users have reported them. */
export const reportedStreams: readonly NativeOddity[] = [
  {
    ...anthropic(
      'the start of the message comes five times',
      start().repeat(5) + text(0, 'Hello') + ended('end_turn') + stop,
      plain,
    ),
    source: github('MoonshotAI/Kimi-K2.5/issues/33'),
  },
  {
    ...anthropic(
      'the start of the message comes again with another id, before any content',
      start() + other('msg_2') + text(0, 'Hello') + ended('end_turn') + stop,
      plain,
    ),
    source: github('MoonshotAI/Kimi-K2.5/issues/33'),
  },
  {
    ...anthropic(
      'a second answer begins behind half of the first',
      start() +
        open(0, tool('toolu_1')) +
        json(0, '{"at":') +
        other('msg_2') +
        text(0, 'Hello') +
        ended('end_turn') +
        stop,
      { problem: 'upstream-failed', says: 'second answer' },
    ),
    source: github('vercel/ai/issues/18331'),
  },
  {
    ...anthropic(
      'the stream ends behind words, with no end of the message',
      start() + text(0, 'Hello') + delta(1, { type: 'text_delta', text: '?' }),
      { problem: 'upstream-failed' },
    ),
    source: github('QuantumNous/new-api/issues/5870'),
  },
  {
    ...anthropic(
      'the usage is zero at the start and told at the end',
      start({ input_tokens: 0, output_tokens: 0 }) +
        text(0, 'Hello') +
        ended('end_turn', { input_tokens: 123, output_tokens: 45 }) +
        stop,
      plain,
    ),
    source: github('sgl-project/sglang/issues/20678'),
  },
  anthropic(
    'words come without the start of their block',
    start() + delta(1, { type: 'text_delta', text: 'Hello' }) + close(1) + ended('end_turn') + stop,
    plain,
  ),
  anthropic(
    'all blocks have the index 0',
    start() +
      text(0, 'Hello') +
      open(0, tool('toolu_1')) +
      json(0, '{"at":"a"}') +
      close(0) +
      ended('tool_use') +
      stop,
    { ...one, text: 'Hello' },
  ),
  anthropic(
    'the input is a JSON text at the start of its block',
    start() + open(0, tool('toolu_1', '{"at":"a"}')) + close(0) + ended('tool_use') + stop,
    one,
  ),
  anthropic(
    'a piece of the input is an object',
    start() +
      open(0, tool('toolu_1')) +
      delta(0, { type: 'input_json_delta', partial_json: { at: 'a' } }) +
      close(0) +
      ended('tool_use') +
      stop,
    one,
  ),
  anthropic('the message stops without a reason', start() + text(0, 'Hello') + stop, plain),
  anthropic(
    'the mark of the end of a chat comes behind the message',
    start() + text(0, 'Hello') + ended('end_turn') + stop + 'data: [DONE]\n\n',
    plain,
  ),
  anthropic(
    'the first event is missing',
    text(0, 'Hello') + ended('end_turn', { input_tokens: 10, output_tokens: 5 }) + stop,
    plain,
  ),
  anthropic('the last event is missing', start() + text(0, 'Hello') + ended('end_turn'), plain),
]
