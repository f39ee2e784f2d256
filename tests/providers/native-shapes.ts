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

const source = 'tried: gateways that translate other APIs to a native one'
const done = 'data: [DONE]\n\n'
const claude = (what: string, wire: string, normal: NativeOddity['normal']): NativeOddity => ({
  ...anthropic(what, wire, normal),
  source,
})
/** A message of one block of words whose deltas are these. */
const saying = (...pieces: readonly unknown[]): string =>
  start() +
  open(0, { type: 'text', text: '' }) +
  pieces.map((piece) => delta(0, piece as object)).join('') +
  close(0) +
  ended('end_turn') +
  stop
const calling = (block: object, ...deltas: readonly object[]): string =>
  start() +
  open(0, block) +
  deltas.map((piece) => delta(0, piece)).join('') +
  close(0) +
  ended('tool_use') +
  stop
const begun = (block: unknown, reason = 'end_turn'): string =>
  start() + open(0, block as object) + close(0) + ended(reason) + stop
const reasoned = (event: object): string =>
  start() + text(0, 'Hello') + named({ type: 'message_delta', ...event }) + stop
const length = { text: 'Hello', end: 'length' } as const
const strange = { problem: 'provider-unreadable' } as const

const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 }
const event = (value: object): string => `data: ${JSON.stringify({ usageMetadata, ...value })}\n\n`
const candidate = (one: object): string => event({ candidates: [{ index: 0, finishReason: 'STOP', ...one }] })
const said = (...parts: readonly unknown[]): string => candidate({ content: { role: 'model', parts } })
const google = (what: string, wire: string, normal: NativeOddity['normal']): NativeOddity => ({
  what,
  source,
  kind: 'google',
  wire,
  normal,
})

/** Words, calls and reasons in other shapes and under other names than those of the native APIs. */
export const nativeShapes: readonly NativeOddity[] = [
  claude('words are a list of texts', saying({ type: 'text_delta', text: ['Hel', 'lo'] }), plain),
  claude(
    'words are a list of parts',
    saying({ type: 'text_delta', text: [{ type: 'text', text: 'Hel' }, { text: 'lo' }] }),
    plain,
  ),
  claude('words are an object', saying({ type: 'text_delta', text: { value: 'Hello' } }), plain),
  claude(
    'words are an object with content',
    saying({ type: 'text_delta', text: { content: 'Hello' } }),
    plain,
  ),
  claude(
    'words are an object of unknown members',
    saying({ type: 'text_delta', text: { x: { y: 1 } } }),
    strange,
  ),
  claude('a block begins with a list of parts', begun({ type: 'text', text: [{ text: 'Hello' }] }), plain),
  claude('a block has its words as content', begun({ type: 'text', content: 'Hello' }), plain),
  claude('a block has no type', begun({ text: 'Hello' }), plain),
  claude('a block is a text', begun('Hello'), plain),
  claude('a block is output_text', begun({ type: 'output_text', text: 'Hello' }), plain),
  claude('a delta has no type', saying({ text: 'Hel' }, { text: 'lo' }), plain),
  claude('a delta is a text', saying('Hel', 'lo'), plain),
  claude('a delta is of type text', saying({ type: 'text', text: 'Hello' }), plain),
  claude('a delta is of type output_text_delta', saying({ type: 'output_text_delta', text: 'Hello' }), plain),
  claude(
    'deltas of unknown types with words are between the words',
    saying(
      { type: 'text_delta', text: 'Hel' },
      { type: 'sparkle_delta', text: 'a picture' },
      { type: 'audio_transcript_delta', content: 'spoken' },
      { type: 'compaction_delta', content: 'a summary' },
      { type: 'source_delta', value: 'https://example.com', delta: 'x' },
      { type: 'widget_delta', partial_json: '{"a":1}' },
      { type: 'mood_delta', thinking: 'glad' },
      { type: 'text_delta', text: 'lo' },
    ),
    plain,
  ),
  claude('the only delta is of an unknown type', saying({ type: 'sparkle_delta', text: 'a picture' }), {
    ...strange,
    says: 'a delta of type sparkle_delta',
  }),
  claude(
    'a delta of an unknown type is in a block of thinking, and one before any block',
    start() +
      delta(0, { type: 'sparkle_delta', text: 'a picture' }) +
      open(0, { type: 'thinking', thinking: '' }) +
      delta(0, { type: 'progress_delta', text: '40 %' }) +
      delta(0, { type: 'thinking_delta', thinking: 'hm' }) +
      close(0) +
      text(1, 'Hello') +
      ended('end_turn') +
      stop,
    { ...plain, thought: 'hm' },
  ),
  claude(
    'a delta of an unknown type is in a call',
    calling(tool('a'), { type: 'progress_delta', value: 1, delta: '40 %' }, { partial_json: '{"at":"a"}' }),
    one,
  ),
  claude(
    'a delta is named as the event of another API',
    saying({ type: 'response.output_text.delta', delta: 'Hello' }),
    plain,
  ),
  claude('a delta is of type content', saying({ type: 'content', content: 'Hello' }), plain),
  claude('a delta has its words as content', saying({ type: 'text_delta', content: 'Hello' }), plain),
  claude('a delta has its words as delta', saying({ type: 'text_delta', delta: 'Hello' }), plain),
  claude(
    'a delta of thinking has no type',
    thinkingThen({ type: 'thinking', thinking: '' }, { thinking: 'hm' }),
    { ...plain, thought: 'hm' },
  ),
  claude(
    'thinking is in a block of reasoning',
    thinkingThen({ type: 'reasoning', text: '' }, { type: 'reasoning_delta', text: 'hm' }),
    { ...plain, thought: 'hm' },
  ),
  claude('thinking is a list of parts', thinkingThen({ type: 'thinking', thinking: [{ text: 'hm' }] }), {
    ...plain,
    thought: 'hm',
  }),
  claude(
    'the input comes in deltas without a type',
    calling(tool('a'), { partial_json: '{"at":' }, { partial_json: '"a"}' }),
    one,
  ),
  claude(
    'the input comes as arguments',
    calling(tool('a'), { type: 'input_json_delta', arguments: '{"at":"a"}' }),
    one,
  ),
  claude(
    'the input comes in tool_use_delta',
    calling(tool('a'), { type: 'tool_use_delta', partial_json: '{"at":"a"}' }),
    one,
  ),
  claude(
    'the input comes as an object in a delta',
    calling(tool('a'), { type: 'input_json_delta', partial_json: { at: 'a' } }),
    one,
  ),
  claude(
    'the input comes as input in a delta',
    calling(tool('a'), { type: 'input_json_delta', input: { at: 'a' } }),
    one,
  ),
  claude(
    'a call is a block function_call',
    calling({ type: 'function_call', call_id: 'a', name: 'look', arguments: '{"at":"a"}' }),
    one,
  ),
  claude(
    'a call is a block tool_call with a function',
    calling({ type: 'tool_call', id: 'a', function: { name: 'look', arguments: '{"at":"a"}' } }),
    one,
  ),
  claude(
    'a call is a block toolUse',
    calling({ type: 'toolUse', toolUseId: 'a', name: 'look', input: { at: 'a' } }),
    one,
  ),
  claude(
    'a call is a block function',
    calling({ type: 'function', id: 'a', function: { name: 'look', arguments: { at: 'a' } } }),
    one,
  ),
  claude(
    'a call has its input as arguments',
    calling({ type: 'tool_use', id: 'a', name: 'look', arguments: { at: 'a' } }),
    one,
  ),
  claude(
    'a call has its input as parameters',
    calling({ type: 'tool_use', id: 'a', name: 'look', parameters: '{"at":"a"}' }),
    one,
  ),
  claude(
    'a call has its name in a function',
    calling(
      { type: 'tool_use', id: 'a', function: { name: 'look' } },
      { type: 'input_json_delta', partial_json: '{"at":"a"}' },
    ),
    one,
  ),
  claude(
    'a call is a block function_call whose arguments come in pieces',
    calling(
      { type: 'function_call', call_id: 'a', name: 'look', arguments: '' },
      { type: 'function_call_arguments_delta', delta: '{"at":"a"}' },
    ),
    one,
  ),
  claude('words end with the mark of chat completions alone', start() + text(0, 'Hello') + done, plain),
  claude(
    'words in an open block end with the mark alone',
    start() + open(0, { type: 'text', text: '' }) + delta(0, { type: 'text_delta', text: 'Hello' }) + done,
    plain,
  ),
  claude(
    'a call ends with the mark alone',
    start() + open(0, tool('a')) + json(0, '{"at":"a"}') + close(0) + done,
    one,
  ),
  claude('the mark is in quotes', `${start()}${text(0, 'Hello')}data: "[DONE]"\n\n`, plain),
  claude('the mark comes before any content', start() + done, { problem: 'upstream-failed' }),
  claude(
    'the reason is beside the delta',
    reasoned({ stop_reason: 'max_tokens', usage: { output_tokens: 5 } }),
    length,
  ),
  claude('the reason is stopReason', reasoned({ delta: { stopReason: 'max_tokens' } }), length),
  claude('the reason is finish_reason', reasoned({ delta: { finish_reason: 'length' } }), length),
  claude('the reason is an object', reasoned({ delta: { stop_reason: { type: 'max_tokens' } } }), length),
  claude('the reason is a list', reasoned({ delta: { stop_reason: ['max_tokens'] } }), length),
  claude(
    'the reason is in the last event',
    start() + text(0, 'Hello') + named({ type: 'message_stop', stop_reason: 'max_tokens' }),
    length,
  ),
  claude(
    'the reason is in the message of the last event',
    start() + text(0, 'Hello') + named({ type: 'message_stop', message: { stop_reason: 'max_tokens' } }),
    length,
  ),
  claude(
    'nothing but a block of an unknown type comes',
    start() + open(0, { type: 'hologram', data: 'x' }) + close(0) + ended('end_turn') + stop,
    strange,
  ),

  google('the content is a text', candidate({ content: 'Hello' }), plain),
  google('the content is a list of parts', candidate({ content: [{ text: 'Hel' }, { text: 'lo' }] }), plain),
  google(
    'the content is a list of contents',
    candidate({ content: [{ role: 'model', parts: [{ text: 'Hello' }] }] }),
    plain,
  ),
  google('the content is one part', candidate({ content: { role: 'model', text: 'Hello' } }), plain),
  google('a part is a text', said('Hel', 'lo'), plain),
  google('the parts are one text', candidate({ content: { role: 'model', parts: 'Hello' } }), plain),
  google('the text is a list of texts', said({ text: ['Hel', 'lo'] }), plain),
  google('the text is a list of parts', said({ text: [{ text: 'Hello' }] }), plain),
  google('the text is an object', said({ text: { value: 'Hello' } }), plain),
  google('the text is an object of unknown members', said({ text: { x: { y: 1 } } }), strange),
  google('the words are in output', candidate({ output: 'Hello' }), plain),
  google('the words are in text of the candidate', candidate({ text: 'Hello' }), plain),
  google('the parts are in the candidate', candidate({ parts: [{ text: 'Hello' }] }), plain),
  google('the message has the content', candidate({ message: { content: 'Hello' } }), plain),
  google('nothing but a part of an unknown kind comes', said({ hologram: { x: 1 } }), strange),
  google('thinking is in a text of its own', said({ thought: 'hm' }, { text: 'Hello' }), {
    ...plain,
    thought: 'hm',
  }),
  google('thinking is marked with a text', said({ thought: 'true', text: 'hm' }, { text: 'Hello' }), {
    ...plain,
    thought: 'hm',
  }),
  google('a call is a toolCall', said({ toolCall: { name: 'look', args: { at: 'a' } } }), one),
  google('a call is a tool_call', said({ tool_call: { name: 'look', arguments: { at: 'a' } } }), one),
  google('a call is a toolUse', said({ toolUse: { name: 'look', input: { at: 'a' } } }), one),
  google('a call has arguments', said({ functionCall: { name: 'look', arguments: '{"at":"a"}' } }), one),
  google('a call has parameters', said({ functionCall: { name: 'look', parameters: { at: 'a' } } }), one),
  google('a call is a list', said({ functionCall: [{ name: 'look', args: { at: 'a' } }] }), one),
  google(
    'calls are in a list beside the content',
    candidate({
      content: { role: 'model', parts: [] },
      functionCalls: [{ name: 'look', args: { at: 'a' } }],
    }),
    one,
  ),
  google(
    'calls are beside the parts',
    candidate({ content: { role: 'model', functionCall: { name: 'look', args: { at: 'a' } } } }),
    one,
  ),
  google(
    'a call of OpenAI is in a part',
    said({ type: 'function', function: { name: 'look', arguments: '{"at":"a"}' } }),
    one,
  ),
  google(
    'the reason is written with underscores',
    event({ candidates: [{ content: { parts: [{ text: 'Hello' }] }, finish_reason: 'MAX_TOKENS' }] }),
    length,
  ),
  google(
    'the reason is in lower case',
    event({ candidates: [{ content: { parts: [{ text: 'Hello' }] }, finishReason: 'max_tokens' }] }),
    length,
  ),
  google(
    'the reason has its type before it',
    event({
      candidates: [{ content: { parts: [{ text: 'Hello' }] }, finishReason: 'FinishReason.MAX_TOKENS' }],
    }),
    length,
  ),
  google(
    'the reason is an object',
    event({
      candidates: [{ content: { parts: [{ text: 'Hello' }] }, finishReason: { name: 'MAX_TOKENS' } }],
    }),
    length,
  ),
  google(
    'the reason is that of another API',
    event({ candidates: [{ content: { parts: [{ text: 'Hello' }] }, stopReason: 'length' }] }),
    length,
  ),
  google(
    'the reason is in an event without candidates',
    event({ candidates: [{ content: { parts: [{ text: 'Hello' }] } }] }) + event({ finishReason: 'STOP' }),
    plain,
  ),
  google(
    'the blocked prompt is written with underscores',
    event({ prompt_feedback: { block_reason: 'SAFETY' } }),
    { text: '', end: 'content_filter' },
  ),
  google(
    'the usage is written with underscores',
    `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text: 'Hello' }] }, finish_reason: 'STOP' }], usage_metadata: { prompt_token_count: 10, candidates_token_count: 5, total_token_count: 15 } })}\n\n`,
    plain,
  ),
  google(
    'words end with the mark of chat completions alone',
    event({ candidates: [{ content: { parts: [{ text: 'Hello' }] } }] }) + done,
    plain,
  ),
  google(
    'the candidates are by their index',
    event({ candidates: { 0: { content: { parts: [{ text: 'Hello' }] }, finishReason: 'STOP' } } }),
    plain,
  ),
  google(
    'there is one candidate in candidate',
    event({ candidate: { content: { parts: [{ text: 'Hello' }] }, finishReason: 'STOP' } }),
    plain,
  ),
  google(
    'the answer is in result',
    `data: ${JSON.stringify({ result: { candidates: [{ content: { parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }] } })}\n\n`,
    plain,
  ),
]
