import { one, plain } from './oddity.ts'
import {
  anthropic,
  close,
  delta,
  ended,
  json,
  named,
  open,
  start,
  stop,
  text,
  tool,
  thinkingThen,
} from './native-events.ts'
import type { NativeOddity } from './native-events.ts'
import { misplacedEvents } from './native-misplaced.ts'
import { nativeStreams } from './native-streams.ts'
import { nativeShapes } from './native-shapes.ts'
import { reportedStreams } from './native-reported.ts'

const gem = (candidates: unknown, more: object = {}): string =>
  `data: ${JSON.stringify({ candidates, usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 }, ...more })}\n\n`
const said = (parts: unknown, finishReason?: string): string =>
  gem([{ content: { role: 'model', parts }, index: 0, ...(finishReason ? { finishReason } : {}) }])
const google = (what: string, wire: string, normal: NativeOddity['normal']): NativeOddity => ({
  what,
  source: 'ai.google.dev API reference, GenerateContentResponse',
  kind: 'google',
  wire,
  normal,
})

export const nativeOddities: readonly NativeOddity[] = [
  anthropic(
    'pings come at any place',
    start() + named({ type: 'ping' }) + text(0, 'Hello') + named({ type: 'ping' }) + ended('end_turn') + stop,
    plain,
  ),
  anthropic(
    'an event of an unknown type comes',
    start() + named({ type: 'message_progress', percent: 5 }) + text(0, 'Hello') + ended('end_turn') + stop,
    plain,
  ),
  anthropic('a block of an unknown type comes', thinkingThen({ type: 'hologram', data: 'x' }), plain),
  anthropic(
    'a delta of an unknown type comes',
    start() +
      open(0, { type: 'text', text: '' }) +
      delta(0, { type: 'sparkle_delta', x: 1 }) +
      delta(0, { type: 'text_delta', text: 'Hello' }) +
      close(0) +
      ended('end_turn') +
      stop,
    plain,
  ),
  anthropic(
    'the input of a call is given whole at its start',
    start() + open(0, tool('toolu_1', { at: 'a' })) + close(0) + ended('tool_use') + stop,
    one,
  ),
  anthropic(
    'the input is given whole and again in pieces',
    start() +
      open(0, tool('toolu_1', { at: 'a' })) +
      json(0, '{"at":"a"}') +
      close(0) +
      ended('tool_use') +
      stop,
    one,
  ),
  anthropic(
    'the first piece of the input is an empty text',
    start() +
      open(0, tool('toolu_1')) +
      json(0, '') +
      json(0, '{"at":') +
      json(0, '"a"}') +
      close(0) +
      ended('tool_use') +
      stop,
    one,
  ),
  anthropic(
    'the input is an empty text at its start',
    start() + open(0, tool('toolu_1', '')) + json(0, '{"at":"a"}') + close(0) + ended('tool_use') + stop,
    one,
  ),
  anthropic(
    'the input is null at its start',
    start() + open(0, tool('toolu_1', null)) + json(0, '{"at":"a"}') + close(0) + ended('tool_use') + stop,
    one,
  ),
  anthropic(
    'there is no input at all',
    start() + open(0, tool('toolu_1')) + close(0) + ended('tool_use') + stop,
    { calls: [['look', '{}']], end: 'tool_calls' },
  ),
  anthropic(
    'two calls have the same id',
    start() +
      open(0, tool('toolu_1')) +
      json(0, '{"at":"a"}') +
      close(0) +
      open(1, tool('toolu_1')) +
      json(1, '{"at":"b"}') +
      close(1) +
      ended('tool_use') +
      stop,
    {
      calls: [
        ['look', '{"at":"a"}'],
        ['look', '{"at":"b"}'],
      ],
      end: 'tool_calls',
    },
  ),
  anthropic(
    'the id of a call is empty',
    start() + open(0, tool('')) + json(0, '{"at":"a"}') + close(0) + ended('tool_use') + stop,
    one,
  ),
  anthropic(
    'the stop of a block is missing',
    start() + open(0, tool('toolu_1')) + json(0, '{"at":"a"}') + ended('tool_use') + stop,
    one,
  ),
  anthropic(
    'the stop of a block of words is missing',
    start() +
      open(0, { type: 'text', text: '' }) +
      delta(0, { type: 'text_delta', text: 'Hello' }) +
      ended('end_turn') +
      stop,
    plain,
  ),
  anthropic(
    'the start of a message comes twice',
    start() + start() + text(0, 'Hello') + ended('end_turn') + stop,
    plain,
  ),
  anthropic(
    'words are given whole at the start of their block',
    start() + open(0, { type: 'text', text: 'Hello' }) + close(0) + ended('end_turn') + stop,
    plain,
  ),
  anthropic('it refuses', start() + text(0, 'Hello') + ended('refusal') + stop, {
    text: 'Hello',
    end: 'content_filter',
  }),
  anthropic('it pauses its turn', start() + text(0, 'Hello') + ended('pause_turn') + stop, plain),
  anthropic(
    'its context is full',
    start() + text(0, 'Hello') + ended('model_context_window_exceeded') + stop,
    { text: 'Hello', end: 'length' },
  ),
  anthropic('the reason for the end is unknown', start() + text(0, 'Hello') + ended('tired') + stop, plain),
  anthropic(
    'it is overloaded in the middle',
    start() +
      text(0, 'Hello') +
      named({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    { problem: 'model-overloaded', says: 'Overloaded' },
  ),
  anthropic(
    'it is overloaded at first',
    named({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    { problem: 'model-overloaded', says: 'Overloaded' },
  ),
  anthropic('it breaks off', start() + text(0, 'Hello'), {
    problem: 'upstream-failed',
    says: 'ended its answer early',
  }),
  anthropic(
    'the signature of the thinking is missing',
    thinkingThen({ type: 'thinking', thinking: '' }, { type: 'thinking_delta', thinking: 'hm' }),
    { ...plain, thought: 'hm' },
  ),
  anthropic(
    'the signature of the thinking is empty',
    thinkingThen(
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: 'hm' },
      { type: 'signature_delta', signature: '' },
    ),
    { ...plain, thought: 'hm' },
  ),
  anthropic('thinking is redacted', thinkingThen({ type: 'redacted_thinking', data: 'abc' }), plain),
  anthropic(
    'the usage is only at the start',
    start() + text(0, 'Hello') + ended('end_turn', null) + stop,
    plain,
  ),
  anthropic(
    'the usage is only at the end',
    start({}) + text(0, 'Hello') + ended('end_turn', { input_tokens: 10, output_tokens: 5 }) + stop,
    plain,
  ),
  anthropic(
    'the usage at the start is null',
    named({
      type: 'message_start',
      message: { id: 'm', type: 'message', role: 'assistant', model: 'x', content: [], usage: null },
    }) +
      text(0, 'Hello') +
      ended('end_turn') +
      stop,
    plain,
  ),
  anthropic(
    'the start of the message has nothing in it',
    named({ type: 'message_start', message: {} }) + text(0, 'Hello') + ended('end_turn') + stop,
    plain,
  ),
  anthropic(
    'a tool runs at the provider',
    start() +
      open(0, { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }) +
      json(0, '{"query":"x"}') +
      close(0) +
      open(1, { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }) +
      close(1) +
      text(2, 'Hello') +
      ended('end_turn') +
      stop,
    plain,
  ),
  anthropic(
    'events have no names',
    (start() + text(0, 'Hello') + ended('end_turn') + stop).replace(/^event: .*\n/gm, ''),
    plain,
  ),
  ...nativeStreams,
  ...reportedStreams,
  ...misplacedEvents,
  ...nativeShapes,
  google('a call cannot be read', gem([{ finishReason: 'MALFORMED_FUNCTION_CALL', index: 0 }]), {
    problem: 'upstream-failed',
    says: 'MALFORMED_FUNCTION_CALL',
  }),
  google('a call is unexpected', gem([{ finishReason: 'UNEXPECTED_TOOL_CALL', index: 0 }]), {
    problem: 'upstream-failed',
    says: 'UNEXPECTED_TOOL_CALL',
  }),
  google('there are no candidates', gem(undefined), { problem: 'upstream-failed' }),
  google('the prompt is blocked', gem(undefined, { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }), {
    text: '',
    end: 'content_filter',
  }),
  google(
    'a call has no id and no arguments',
    said([{ functionCall: { name: 'look', args: null } }], 'STOP'),
    { calls: [['look', '{}']], end: 'tool_calls' },
  ),
  google(
    'two calls have no ids',
    said(
      [
        { functionCall: { name: 'look', args: { at: 'a' } } },
        { functionCall: { name: 'look', args: { at: 'b' } } },
      ],
      'STOP',
    ),
    {
      calls: [
        ['look', '{"at":"a"}'],
        ['look', '{"at":"b"}'],
      ],
      end: 'tool_calls',
    },
  ),
  google(
    'a candidate has no content',
    said([{ text: 'Hello' }]) + gem([{ finishReason: 'STOP', index: 0 }]),
    plain,
  ),
  google(
    'the content is empty',
    said([{ text: 'Hello' }]) + gem([{ content: {}, finishReason: 'STOP', index: 0 }]),
    plain,
  ),
  google(
    'a seal comes with empty words',
    said([{ text: 'Hello' }]) + said([{ text: '', thoughtSignature: 'abc' }], 'STOP'),
    plain,
  ),
  google('a part of an unknown kind comes', said([{ hologram: { x: 1 } }, { text: 'Hello' }], 'STOP'), plain),
  google('the reason for the end is unknown', said([{ text: 'Hello' }], 'TIRED'), plain),
  google('a filter ends it', said([{ text: 'Hello' }], 'SAFETY'), { text: 'Hello', end: 'content_filter' }),
  google('it breaks off', said([{ text: 'Hello' }]), {
    problem: 'upstream-failed',
    says: 'ended its answer early',
  }),
  google(
    'an error comes in the stream',
    said([{ text: 'Hello' }]) +
      `data: ${JSON.stringify({ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } })}\n\n`,
    { problem: 'model-overloaded', says: 'overloaded' },
  ),
]
